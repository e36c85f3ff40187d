// From counts of pods to the tables that the score terms read. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "snug/demand/gpu_supply.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"

namespace snug::demand {

using ShapeCounts = std::map<PodShape, double>;

/// Built once for some counts; then at_churn() is cheap, since only the regime changes between
/// builds.
class DemandTables {
 public:
  DemandTables() = default;
  /// `pods` includes the prior's pods. `prior_weight`: the weight of the prior for pods that name
  /// GPU models (kPriorNamingGpus), 0..1.
  DemandTables(const ShapeCounts& pods, const Supply& supply, double prior_weight = 1);

  /// The tables for a churn of 0..Demand::kFullChurn; without version and saturation.
  [[nodiscard]] model::Demand at_churn(int churn) const;

 private:
  /// What a pod needs of CPU or memory with a whole GPU. The needs per device count while the
  /// cluster fills, those per GPU used in full churn, and in proportion between.
  template <typename T>
  struct ByBasis {
    T per_device;    // amount / GPUs of which it has a part
    T per_gpu_used;  // amount / (milli-GPU that it takes / 1000)
  };
  using Needs = ByBasis<model::StrandingTable::Bins>;

  [[nodiscard]] static model::StrandingTable interpolated(const Needs& needs, std::int64_t width,
                                                          int churn);

  Needs cpu_{};
  Needs memory_{};
  /// By GpuInfo::mig_table_id. Churning: from half of kFullChurn on.
  struct {
    std::vector<model::SliceValueTable> filling;
    std::vector<model::SliceValueTable> churning;
  } slice_values_;
  model::Demand base_;  // the tables that do not depend on the regime
};

}  // namespace snug::demand
