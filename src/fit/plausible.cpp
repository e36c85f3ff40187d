#include "fit/plausible.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "fit/gpu_modes.hpp"
#include "fit/slices.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::fit {
namespace {

/// Whether a device on the GPU may have this mode. A GPU in MIG mode has only slices.
bool may_hold(const model::GpuInfo& gpu, model::GpuMode mode) {
  return gpu.mig_enabled ? mode == model::GpuMode::kMig : allows(gpu, mode);
}

Charge larger(const Charge& a, const Charge& b) {
  return {.memory = std::max(a.memory, b.memory), .compute = std::max(a.compute, b.compute)};
}

}  // namespace

bool plausible(const model::ContainerRequest& container_request, const Charge& stated,
               base::MebiBytes capacity) {
  const base::MebiBytes eighth{capacity.value / 8};
  const Charge on_smaller = charge(container_request, capacity - eighth);
  const Charge on_larger = charge(container_request, capacity + eighth);
  // On a larger GPU, the memory of a fraction is larger, and the compute of a memory request is
  // smaller.
  return stated.memory >= on_smaller.memory && stated.memory <= on_larger.memory &&
         stated.compute <= on_smaller.compute && stated.compute >= on_larger.compute;
}

bool plausible(const model::MigTable& table, std::uint16_t profile,
               const model::ContainerRequest& container_request) {
  std::optional<mig::SliceRequirement> requirement = mig::slice_requirement(container_request);
  if (!requirement) return false;
  requirement->memory.value -= requirement->memory.value / 8;
  return mig::satisfies(table, table.profiles[profile], *requirement);
}

bool plausible(const Charge& today, const Charge& stated) {
  const std::int64_t eighth = today.memory.value / 8;
  return stated.compute == today.compute && stated.memory.value >= today.memory.value - eighth &&
         stated.memory.value <= today.memory.value + eighth;
}

CountedDevice count_device(const model::ReservedDevice& device,
                           const model::ContainerRequest* asked, const model::GpuState& gpu) {
  const Charge stated{.memory = device.memory, .compute = device.compute};
  CountedDevice counted{.cost = stated};
  // A whole GPU counts with its present size, whatever size its reservation states.
  if (device.mode == model::GpuMode::kWhole) {
    counted.cost = {.memory = gpu.memory.value > 0 ? gpu.memory : stated.memory,
                    .compute = base::kWholeGpu};
  }
  if (gpu.closure == model::GpuClosure::kVanished) return counted;
  const bool sized = asked != nullptr && device.mode != model::GpuMode::kMig;
  if (sized && !plausible(*asked, stated, gpu.memory)) {
    counted.cost = larger(larger(counted.cost, stated), charge(*asked, gpu.memory));
    counted.suspect = true;
  } else if (sized && std::holds_alternative<model::FractionRequest>(asked->device)) {
    counted.cost.memory = charge(*asked, gpu.memory).memory;
    counted.rounded = true;
  }
  counted.suspect = counted.suspect || !may_hold(*gpu.info, device.mode);
  return counted;
}

CountedDevice count_slice(const model::MigTable& table, std::uint16_t profile,
                          const model::ContainerRequest* container_request, const Charge& stated) {
  const Charge cost = slice_charge(table, profile);
  const bool is_plausible =
      (container_request == nullptr || plausible(table, profile, *container_request)) &&
      plausible(cost, stated);
  return {.cost = larger(stated, cost), .suspect = !is_plausible};
}

}  // namespace snug::fit
