// The GPUs that demand is measured by. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct Supply {
  struct Size {
    MebiBytes memory;
    std::int64_t gpus = 0;
  };

  std::int64_t gpus = 0;
  // Of the nodes that have GPUs.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::array<std::int64_t, kMostModels> by_model{};  // GPUs, by the model's number
  /// Of the largest GPU of each model, by the model's number.
  std::array<MebiBytes, kMostModels> memory_by_model{};
  std::shared_ptr<const std::vector<std::string>> models;  // names by number; null: none
  std::vector<Size> sizes;  // that which most GPUs have first, kMostGpuSizes at most

  /// What a GPU has in most cases; 0: there are none.
  [[nodiscard]] MebiBytes usual_memory() const {
    return sizes.empty() ? MebiBytes{} : sizes.front().memory;
  }
};

[[nodiscard]] Supply supply_of(const Snapshot& snapshot);

}  // namespace snug
