// What pods use of single GPUs, for metrics with a series for each GPU. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::usage {

/// The texts are those of the snapshot, which must outlive this object.
struct GpuUsage {
  std::string_view node;
  int index = 0;
  std::string_view uuid;
  std::string_view model;
  base::MebiBytes memory;
  base::MebiBytes memory_held;
  base::MilliGpu compute_held;  // with units of the kubelet, as in ModelUsage
  std::int64_t pods = 0;        // that hold a device of the GPU
  model::GpuMode mode = model::GpuMode::kNone;
  model::GpuClosure closure = model::GpuClosure::kOpen;

  friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
};

/// The first `max_gpus` GPUs in the order of their nodes' names and of their indices. GPUs that
/// vanished from the inventories are left out, since several of a node may have the same index.
[[nodiscard]] std::vector<GpuUsage> gpu_usage(const model::Snapshot& snapshot,
                                              std::size_t max_gpus);

}  // namespace snug::usage
