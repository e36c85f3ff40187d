// The GPUs that demand is measured by. Pure.
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
  // Of the nodes that have GPUs.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::array<std::int64_t, kMostModels> by_model{};  // GPUs, by the model's number
  /// Of the largest GPU of each model, by the model's number.
  std::array<MebiBytes, kMostModels> memory_by_model{};
  std::shared_ptr<const std::vector<std::string>> models;  // names by number; null: none
  /// MIG tables by their number (GpuInfo::mig_number), and how many GPUs in MIG mode have each.
  std::shared_ptr<const std::vector<MigTableRef>> mig_tables;
  std::array<std::int64_t, kMostMigTables> by_mig_table{};
  /// The most that any one node has of each. 0 GPUs: no node is known; 0 CPU: no node says what it
  /// has.
  std::int64_t most_gpus = 0;
  std::int64_t most_cpu_milli = 0;
  std::int64_t most_memory_mib = 0;
  std::vector<Size> sizes;  // that which most GPUs have first, kMostGpuSizes at most

  /// False: no node could hold such a pod, even empty.
  [[nodiscard]] bool may_hold(const PodShape& shape) const;
  /// Of a GPU, what the pods of this shape ask for in all: a slice by its part of the first card
  /// that has its profile, memory by what a GPU has in most cases.
  [[nodiscard]] std::int64_t milli(const PodShape& shape) const;
  /// What a GPU has in most cases; 0: there are none.
  [[nodiscard]] MebiBytes usual_memory() const {
    return sizes.empty() ? MebiBytes{} : sizes.front().memory;
  }
  /// Of what there is: a list that the ledger made anew for more is another.
  friend bool operator==(const Supply&, const Supply&) = default;
};

[[nodiscard]] Supply supply_of(const Snapshot& snapshot);

/// The models that the shape's pods may have: those that they name, where a GPU has as much memory
/// as they ask for. kAnyModel: all that there are.
[[nodiscard]] ModelSet models_of(const PodShape& shape, const Supply& supply);

}  // namespace snug
