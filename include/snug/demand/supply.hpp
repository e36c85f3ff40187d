// What the cluster has, by which demand is measured. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/units.hpp"
#include "snug/demand/shape.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct Supply {
  struct Size {
    MebiBytes memory;
    std::int64_t gpus = 0;
    friend bool operator==(const Size&, const Size&) = default;
  };

  std::int64_t gpus = 0;
  // Of all nodes with GPUs.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  // By GpuInfo::model_number.
  std::array<std::int64_t, kMostModels> by_model{};        // GPUs
  std::array<MebiBytes, kMostModels> memory_by_model{};    // of the largest GPU
  std::shared_ptr<const std::vector<std::string>> models;  // names by number; null: none
  // By GpuInfo::mig_number; the first is no table.
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables;
  std::array<std::int64_t, kMostMigTables> by_mig_table{};  // GPUs in MIG mode
  // The most that any one node has. 0 GPUs: no node is known; 0 CPU: no node states its capacity.
  std::int64_t most_gpus = 0;
  std::int64_t most_cpu_milli = 0;
  std::int64_t most_memory_mib = 0;
  std::vector<Size> sizes;  // the most common first, kMostGpuSizes at most

  /// False: such a pod fits on no node, even an empty one.
  [[nodiscard]] bool may_hold(const PodShape& shape) const;
  /// Milli-GPU that a pod of this shape takes. A slice counts as its part of the first card that
  /// has the profile, GPU memory as its part of the most common one.
  [[nodiscard]] std::int64_t milli(const PodShape& shape) const;
  /// Of a GPU; 0: there are no GPUs.
  [[nodiscard]] MebiBytes most_common_memory() const {
    return sizes.empty() ? MebiBytes{} : sizes.front().memory;
  }
  /// Compares `models` and `mig_tables` by address: the ledger makes new lists when they grow.
  friend bool operator==(const Supply&, const Supply&) = default;
};

[[nodiscard]] Supply supply_of(const Snapshot& snapshot);

/// The models on which the shape's pods fit, by their model filter and the memory that they ask
/// for. kAnyModel: all models of the cluster.
[[nodiscard]] ModelSet models_of(const PodShape& shape, const Supply& supply);

}  // namespace snug
