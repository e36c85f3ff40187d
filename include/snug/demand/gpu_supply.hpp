// The supply: the GPUs, CPU and memory that the nodes with GPUs have. Pure.
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
  // Sums over all nodes with GPUs.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  // Indexed by GpuInfo::model_id.
  std::array<std::int64_t, model::kMaxModels> gpus_by_model{};           // number of GPUs
  std::array<base::MebiBytes, model::kMaxModels> max_memory_by_model{};  // of the largest GPU
  std::shared_ptr<const std::vector<std::string>> models;                // Snapshot::models
  // Indexed by GpuInfo::mig_table_id. Element 0 of `mig_tables` is null.
  std::shared_ptr<const std::vector<model::MigTableRef>> mig_tables;
  std::array<std::int64_t, base::kMaxMigTables> gpus_by_mig_table{};  // number of GPUs in MIG mode
  // Maxima over all nodes with GPUs. max_gpus_per_node is 0 if no node with GPUs is known;
  // max_cpu_milli_per_node is 0 if no such node states its allocatable CPU.
  std::int64_t max_gpus_per_node = 0;
  std::int64_t max_cpu_milli_per_node = 0;
  std::int64_t max_memory_mib_per_node = 0;
  std::vector<GpuSize> gpu_sizes;  // most common size first; at most kMaxGpuSizes

  /// Whether a pod of this shape would fit on some node if the node were empty. True if no node is
  /// known. MIG slices are not checked.
  [[nodiscard]] bool can_hold(const PodShape& shape) const;
  /// The milli-GPU that a pod of this shape takes. A slice counts as its part of the card's memory
  /// slices, according to the first MIG table that has the slice's profile. A request in GPU memory
  /// counts as its part of most_common_memory().
  [[nodiscard]] std::int64_t total_milli(const PodShape& shape) const;
  /// The most common size of GPU memory; 0 if there are no GPUs.
  [[nodiscard]] base::MebiBytes most_common_memory() const {
    return gpu_sizes.empty() ? base::MebiBytes{} : gpu_sizes.front().memory;
  }
  /// Compares `models` and `mig_tables` by address, because the ledger makes a new list when one of
  /// them grows.
  friend bool operator==(const Supply&, const Supply&) = default;
};

/// The supply of all nodes in the snapshot.
[[nodiscard]] Supply supply_of(const model::Snapshot& snapshot);

/// The models that can serve pods of this shape, according to their model filter and requested GPU
/// memory. kAnyModel if all models of the cluster can.
[[nodiscard]] model::ModelSet models_of(const PodShape& shape, const Supply& supply);

}  // namespace snug::demand
