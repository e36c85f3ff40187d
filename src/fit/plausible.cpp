#include "fit/plausible.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "fit/gpu_modes.hpp"
#include "fit/slices.hpp"
#include "snug/mig/choose.hpp"

namespace snug {
namespace {

/// A GPU in MIG mode has slices and nothing else.
bool may_hold(const GpuInfo& gpu, GpuMode mode) {
  return gpu.mig ? mode == GpuMode::kMig : allows(gpu, mode);
}

Charge larger(const Charge& a, const Charge& b) {
  return {.memory = std::max(a.memory, b.memory), .compute = std::max(a.compute, b.compute)};
}

}  // namespace

bool plausible(const ContainerRequest& asked, const Charge& stated, MebiBytes capacity) {
  const MebiBytes eighth{capacity.value / 8};
  const Charge on_smaller = charge(asked, capacity - eighth);
  const Charge on_larger = charge(asked, capacity + eighth);
  // A fraction's memory grows with the GPU, a memory request's part of the compute shrinks.
  return stated.memory >= on_smaller.memory && stated.memory <= on_larger.memory &&
         stated.compute <= on_smaller.compute && stated.compute >= on_larger.compute;
}

bool plausible(const MigTable& table, std::uint16_t profile, const ContainerRequest& asked) {
  std::optional<SliceNeed> need = slice_need(asked);
  if (!need) return false;
  need->memory.value -= need->memory.value / 8;
  return serves(table, table.profiles[profile], *need);
}

bool plausible(const Charge& today, const Charge& stated) {
  const std::int64_t eighth = today.memory.value / 8;
  return stated.compute == today.compute && stated.memory.value >= today.memory.value - eighth &&
         stated.memory.value <= today.memory.value + eighth;
}

CountedDevice count_device(const ReservedDevice& device, const ContainerRequest* asked,
                           const GpuState& gpu) {
  const Charge stated{.memory = device.memory, .compute = device.compute};
  CountedDevice counted{.cost = stated};
  // Whatever a reservation says of its size, a whole GPU is a whole GPU.
  if (device.mode == GpuMode::kWhole) {
    counted.cost = {.memory = gpu.memory.value > 0 ? gpu.memory : stated.memory,
                    .compute = kWholeGpu};
  }
  if (gpu.closure == GpuClosure::kVanished) return counted;
  const bool sized = asked != nullptr && device.mode != GpuMode::kMig;
  if (sized && !plausible(*asked, stated, gpu.memory)) {
    counted.cost = larger(larger(counted.cost, stated), charge(*asked, gpu.memory));
    counted.suspect = true;
  } else if (sized && std::holds_alternative<FractionAsk>(asked->ask)) {
    counted.cost.memory = charge(*asked, gpu.memory).memory;
    counted.rounded = true;
  }
  counted.suspect = counted.suspect || !may_hold(*gpu.info, device.mode);
  return counted;
}

CountedDevice count_slice(const MigTable& table, std::uint16_t profile,
                          const ContainerRequest* asked, const Charge& stated) {
  const Charge cost = slice_charge(table, profile);
  const bool good =
      (asked == nullptr || plausible(table, profile, *asked)) && plausible(cost, stated);
  return {.cost = larger(stated, cost), .suspect = !good};
}

}  // namespace snug
