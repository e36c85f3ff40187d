// From counts of pods to the tables that the score terms read.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "snug/demand/shape.hpp"
#include "snug/demand/supply.hpp"
#include "snug/model/demand.hpp"

namespace snug {

using ShapeCounts = std::map<PodShape, double>;

/// Generic pods that are thought to have come before all others: until some have, they stand for
/// what nobody knows yet, and later they are too few to matter.
[[nodiscard]] ShapeCounts pods_before_all(const Supply& supply);

/// All tables but what depends on `churn`, which is given apart so that a change of it alone costs
/// little.
class DemandTables {
 public:
  DemandTables() = default;
  DemandTables(const ShapeCounts& pods, const Supply& supply);

  /// `churn`: 0..Demand::kFullChurn.
  [[nodiscard]] Demand at(int churn) const;

 private:
  using Bins = std::array<StrandTable::Bin, StrandTable::kBins>;

  Bins per_device_{};  // cores for each GPU of which a pod has a part
  Bins per_gpu_{};     // cores for as much as a whole GPU
  Demand rest_;
};

}  // namespace snug
