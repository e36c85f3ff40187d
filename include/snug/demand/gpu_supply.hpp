// What the cluster has, by which demand is measured. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/units.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::demand {

struct Supply {
  struct GpuSize {
    base::MebiBytes memory;
    std::int64_t gpus = 0;
    friend bool operator==(const GpuSize&, const GpuSize&) = default;
  };

  std::int64_t gpus = 0;
  // Of all nodes with GPUs.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  // By GpuInfo::model_id.
  std::array<std::int64_t, model::kMaxModels> gpus_by_model{};           // GPUs
  std::array<base::MebiBytes, model::kMaxModels> max_memory_by_model{};  // of the largest GPU
  std::shared_ptr<const std::vector<std::string>> models;  // names by number; null: none
  // By GpuInfo::mig_table_id; the first is no table.
  std::shared_ptr<const std::vector<model::MigTableRef>> mig_tables;
  std::array<std::int64_t, base::kMaxMigTables> gpus_by_mig_table{};  // GPUs in MIG mode
  // The most that any one node has. 0 GPUs: no node is known; 0 CPU: no node states its capacity.
  std::int64_t max_gpus_per_node = 0;
  std::int64_t max_cpu_milli_per_node = 0;
  std::int64_t max_memory_mib_per_node = 0;
  std::vector<GpuSize> gpu_sizes;  // the most common first, kMaxGpuSizes at most

  /// False: such a pod fits on no node, even an empty one.
  [[nodiscard]] bool can_hold(const PodShape& shape) const;
  /// Milli-GPU that a pod of this shape takes. A slice counts as its part of the first card that
  /// has the profile, GPU memory as its part of the most common one.
  [[nodiscard]] std::int64_t total_milli(const PodShape& shape) const;
  /// Of a GPU; 0: there are no GPUs.
  [[nodiscard]] base::MebiBytes most_common_memory() const {
    return gpu_sizes.empty() ? base::MebiBytes{} : gpu_sizes.front().memory;
  }
  /// Compares `models` and `mig_tables` by address: the ledger makes new lists when they grow.
  friend bool operator==(const Supply&, const Supply&) = default;
};

[[nodiscard]] Supply supply_of(const model::Snapshot& snapshot);

/// The models on which the shape's pods fit, by their model filter and the memory that they ask
/// for. kAnyModel: all models of the cluster.
[[nodiscard]] model::ModelSet models_of(const PodShape& shape, const Supply& supply);

}  // namespace snug::demand
