// The mode in which a GPU serves a share, and the part of the GPU that remains free.
#pragma once

#include <algorithm>
#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

[[nodiscard]] inline bool allows(const model::GpuInfo& gpu, model::GpuMode mode) {
  return !gpu.mig_enabled && std::find(gpu.allowed_modes.begin(), gpu.allowed_modes.end(), mode) !=
                                 gpu.allowed_modes.end();
}

/// The mode in which an empty GPU serves a share that requests no mode: the first sharing mode that
/// the operator allows; kNone: the operator allows none.
[[nodiscard]] inline model::GpuMode opened_as(const model::GpuInfo& gpu) {
  const auto first =
      std::find_if(gpu.allowed_modes.begin(), gpu.allowed_modes.end(), model::is_sharing_mode);
  return gpu.mig_enabled || first == gpu.allowed_modes.end() ? model::GpuMode::kNone : *first;
}

[[nodiscard]] constexpr bool suits(model::GpuMode mode, model::Isolation isolation) {
  return isolation == model::Isolation::kAny ||
         (isolation == model::Isolation::kTimeSlicing && mode == model::GpuMode::kTimeSlicing) ||
         (isolation == model::Isolation::kMps && mode == model::GpuMode::kMps);
}

/// The mode in which the GPU in its present state serves a share with this isolation; kNone: it
/// cannot serve it. A GPU that is already shared keeps its mode, as long as the operator allows
/// this mode.
[[nodiscard]] inline model::GpuMode serving_mode(const model::GpuState& gpu,
                                                 model::Isolation isolation) {
  if (suits(gpu.sharing_mode, isolation)) return gpu.sharing_mode;
  if (model::is_sharing_mode(gpu.mode) || !gpu.allows_both_sharing_modes ||
      isolation == model::Isolation::kMig)
    return model::GpuMode::kNone;
  return isolation == model::Isolation::kMps ? model::GpuMode::kMps : model::GpuMode::kTimeSlicing;
}

/// The mode in which the GPU serves a share of the container. `one_mps_device`:
/// GpuOffer::one_mps_device.
[[nodiscard]] inline model::GpuMode serving_mode(const model::GpuState& gpu,
                                                 const model::ContainerRequest& container,
                                                 bool one_mps_device) {
  const model::GpuMode mode = serving_mode(gpu, container.isolation);
  return one_mps_device && container.count > 1 && mode == model::GpuMode::kMps
             ? serving_mode(gpu, model::Isolation::kTimeSlicing)
             : mode;
}

/// The value of GpuState::free_milli after an allocation with the charge `cost`.
inline std::int32_t free_milli_after(const model::GpuState& gpu, const Charge& cost) {
  if (gpu.closure != model::GpuClosure::kOpen || gpu.memory.value <= 0) return 0;
  const std::int64_t memory = 1000 * (gpu.free_memory() - cost.memory).value / gpu.memory.value;
  const std::int64_t compute = (gpu.free_compute() - cost.compute).value;
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(memory, compute)));
}

}  // namespace snug::fit
