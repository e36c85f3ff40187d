// The constraints of a placement, one after another. With the first n of them a request may be
// possible on a node or not; the first that makes it impossible names the reason, so that a reason
// always says what would have to change.
#pragma once

#include <algorithm>
#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

enum class Level : std::uint8_t {
  kSize,     // the GPUs are as large and as many as asked for
  kModel,    // gpu-model takes them
  kMode,     // the operator allows what is asked, and a GPU that is shared is so as asked
  kHealth,   // they are open
  kCap,      // the namespace may take as much
  kRoom,     // there is room beside what they hold
  kTenants,  // and beside whose it is
};

[[nodiscard]] constexpr ReasonCode reason_at(Level level) {
  switch (level) {
    case Level::kSize:
      return ReasonCode::kTooLarge;
    case Level::kModel:
      return ReasonCode::kModelExcluded;
    case Level::kMode:
      return ReasonCode::kWrongMode;
    case Level::kHealth:
      return ReasonCode::kUnhealthy;
    case Level::kCap:
      return ReasonCode::kCapReached;
    case Level::kRoom:
      return ReasonCode::kNoRoom;
    case Level::kTenants:
      break;
  }
  return ReasonCode::kOtherNamespace;
}

[[nodiscard]] constexpr bool shares(GpuMode mode) {
  return mode == GpuMode::kTimeSlicing || mode == GpuMode::kMps;
}

[[nodiscard]] inline bool allows(const GpuInfo& gpu, GpuMode mode) {
  return !gpu.mig && std::find(gpu.modes.begin(), gpu.modes.end(), mode) != gpu.modes.end();
}

/// The mode in which an empty GPU would serve a share with this isolation; kNone: in none.
[[nodiscard]] inline GpuMode opened_as(const GpuInfo& gpu, Isolation isolation) {
  switch (isolation) {
    case Isolation::kTimeSlicing:
      return allows(gpu, GpuMode::kTimeSlicing) ? GpuMode::kTimeSlicing : GpuMode::kNone;
    case Isolation::kMps:
      return allows(gpu, GpuMode::kMps) ? GpuMode::kMps : GpuMode::kNone;
    case Isolation::kMig:
      return GpuMode::kNone;
    case Isolation::kAny:
      break;
  }
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
  if (isolation == Isolation::kAny) return gpu.sharing;
  if (!shares(gpu.mode)) return opened_as(*gpu.info, isolation);
  return suits(gpu.sharing, isolation) ? gpu.sharing : GpuMode::kNone;
}

/// GpuState::left, beside what costs so much more.
inline std::int32_t left_beside(const GpuState& gpu, const Charge& cost) {
  if (gpu.closure != GpuClosure::kOpen || gpu.memory.value <= 0) return 0;
  const std::int64_t memory = 1000 * (gpu.free_memory() - cost.memory).value / gpu.memory.value;
  const std::int64_t compute = (gpu.free_compute() - cost.compute).value;
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, std::min(memory, compute)));
}

}  // namespace snug
