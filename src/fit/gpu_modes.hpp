// In which mode a GPU serves a share, and what is left of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

[[nodiscard]] constexpr bool shares(GpuMode mode) {
  return mode == GpuMode::kTimeSlicing || mode == GpuMode::kMps;
}

[[nodiscard]] inline bool allows(const GpuInfo& gpu, GpuMode mode) {
  return !gpu.mig && std::find(gpu.modes.begin(), gpu.modes.end(), mode) != gpu.modes.end();
}

/// The mode in which an empty GPU serves a share that asks for none: the first sharing mode that
/// the operator allows; kNone: there is none.
[[nodiscard]] inline GpuMode opened_as(const GpuInfo& gpu) {
  const auto first = std::find_if(gpu.modes.begin(), gpu.modes.end(), shares);
  return gpu.mig || first == gpu.modes.end() ? GpuMode::kNone : *first;
}

[[nodiscard]] constexpr bool suits(GpuMode mode, Isolation isolation) {
  return isolation == Isolation::kAny ||
         (isolation == Isolation::kTimeSlicing && mode == GpuMode::kTimeSlicing) ||
         (isolation == Isolation::kMps && mode == GpuMode::kMps);
}

/// The mode in which this GPU, as it is now, serves a share with this isolation; kNone: in none. A
/// shared GPU goes on in its mode while the operator allows that.
[[nodiscard]] inline GpuMode serving_mode(const GpuState& gpu, Isolation isolation) {
  if (suits(gpu.sharing, isolation)) return gpu.sharing;
  if (shares(gpu.mode) || !gpu.shares_both || isolation == Isolation::kMig) return GpuMode::kNone;
  return isolation == Isolation::kMps ? GpuMode::kMps : GpuMode::kTimeSlicing;
}

/// What GpuState::left is once something of this cost is added.
inline std::int32_t left_beside(const GpuState& gpu, const Charge& cost) {
  if (gpu.closure != GpuClosure::kOpen || gpu.memory.value <= 0) return 0;
  const std::int64_t memory = 1000 * (gpu.free_memory() - cost.memory).value / gpu.memory.value;
  const std::int64_t compute = (gpu.free_compute() - cost.compute).value;
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(memory, compute)));
}

}  // namespace snug
