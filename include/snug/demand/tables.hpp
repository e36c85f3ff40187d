// From counts of pods to the tables that the score terms read.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "snug/demand/shape.hpp"
#include "snug/demand/supply.hpp"
#include "snug/model/demand.hpp"

namespace snug {

using ShapeCounts = std::map<PodShape, double>;

/// Generic pods that are thought to have come before all others: while few have come, they stand
/// for what nobody knows yet.
[[nodiscard]] ShapeCounts pods_before_all(const Supply& supply);
/// How much those count beside so many that have come: from 1, falling to 0.
[[nodiscard]] double doubt_after(double pods);

/// All tables but what depends on `churn`, which is given apart so that a change of it alone costs
/// little.
class DemandTables {
 public:
  DemandTables() = default;
  /// `doubt`: how much the demand that is thought to name models before any has been seen counts.
  DemandTables(const ShapeCounts& pods, const Supply& supply, double doubt = 1);

  /// `churn`: 0..Demand::kFullChurn.
  [[nodiscard]] Demand at(int churn) const;

 private:
  /// What pods need of the node, by how it is measured.
  template <typename T>
  struct ByUse {
    T of_device;  // for each GPU of which a pod has a part
    T of_used;    // for as much as a whole GPU
  };

  [[nodiscard]] static StrandTable mixed(const ByUse<StrandTable::Bins>& bins, std::int64_t width,
                                         int churn);

  /// By GpuInfo::mig_number; where half of full churn is reached the second.
  struct {
    std::vector<SliceWorth> still;
    std::vector<SliceWorth> churning;
  } slices_;
  ByUse<StrandTable::Bins> cpu_{};
  ByUse<StrandTable::Bins> memory_{};
  Demand rest_;
};

}  // namespace snug
