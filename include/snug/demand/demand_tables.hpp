// Computes the tables that score terms read (model::Demand) from counts of pods. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "snug/demand/gpu_supply.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"

namespace snug::demand {

using ShapeCounts = std::map<PodShape, double>;

/// The tables for fixed counts of pods. The constructor does most of the work, so that at_churn()
/// is cheap when only the regime changes.
class DemandTables {
 public:
  DemandTables() = default;
  /// `pods` must include the pods of the prior. `prior_weight` (0..1) multiplies kPriorNamingGpus,
  /// the prior for demand that names GPU models.
  DemandTables(const ShapeCounts& pods, const Supply& supply, double prior_weight = 1);

  /// The tables for a churn of 0..Demand::kFullChurn. `version` and `saturation` are 0.
  [[nodiscard]] model::Demand at_churn(int churn) const;

 private:
  /// Two measures of the CPU or memory that a pod needs for each GPU. If churn is 0, `per_device`
  /// applies; at kFullChurn, `per_gpu_used` applies. In between, the weighted mean of both applies.
  template <typename T>
  struct ByBasis {
    T per_device;    // amount / (number of GPUs that the pod uses at least partly)
    T per_gpu_used;  // amount / (the pod's milli-GPU / 1000)
  };
  using Needs = ByBasis<model::StrandingTable::Bins>;

  [[nodiscard]] static model::StrandingTable interpolated(const Needs& needs, std::int64_t width,
                                                          int churn);

  Needs cpu_{};
  Needs memory_{};
  /// Tables indexed by GpuInfo::mig_table_id. `churning` applies if churn is at least half of
  /// kFullChurn, `filling` otherwise.
  struct {
    std::vector<model::SliceValueTable> filling;
    std::vector<model::SliceValueTable> churning;
  } slice_values_;
  model::Demand fixed_tables_;  // the tables that do not depend on churn
};

}  // namespace snug::demand
