#include "score/slice_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "score/cost.hpp"
#include "snug/demand/fitted.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"

namespace snug {
namespace {

std::int64_t rounded_to_step(std::int64_t cost) {
  constexpr std::int64_t kHalf = kSliceCostStep / 2;
  return (cost + (cost < 0 ? -kHalf : kHalf)) / kSliceCostStep * kSliceCostStep;
}

std::int64_t size_millionths(const MigTable& table, MigPlacement slice) {
  return std::int64_t{1'000'000} * table.profiles[slice.profile].size / table.axis;
}

/// In millionths of a GPU.
std::int64_t slice_price(const TermInput& input, const DeviceTake& take) {
  const GpuState& gpu = input.node.gpus[take.gpu];
  const ContainerRequest& asked = input.request.containers[take.container];
  if (!is_share(asked.ask)) return size_millionths(*gpu.info->mig_table, take.slice);
  const Charge cost = charge(asked, gpu.memory);
  const std::int64_t milli = std::clamp<std::int64_t>(
      std::max(cost.compute.value, 1000 * cost.memory.value / gpu.memory.value), 0,
      kWholeGpu.value);
  const LeftOverTable* shares = input.demand.left_over_for(gpu.memory);
  return shares == nullptr ? 1000 * milli : shares->price[static_cast<std::size_t>(milli)];
}

/// The cost of the placement's slices on one card, in millionths of a card. On a static card the
/// slice exists whether it is used or not, so that its value is its size.
std::int64_t value_lost(const TermInput& input, std::size_t position) {
  const GpuState& gpu = input.node.gpus[position];
  const MigTable& table = *gpu.info->mig_table;
  const bool dynamic = input.node.inventory->dynamic_mig;
  const SliceValueTable* values = input.demand.slice_values_for(gpu.info->mig_number);
  if (dynamic && values == nullptr) return 0;
  AxisMask taken = mig_free(*input.node.inventory, gpu).use.taken;
  std::int64_t lost = dynamic ? values->value_of(taken) : 0;
  for (const DeviceTake& each : input.placement.takes) {
    if (each.gpu != position || each.milli == 0) continue;
    taken |= each.slice.range(table);
    lost -= slice_price(input, each);
    if (!dynamic) lost += size_millionths(table, each.slice);
  }
  return dynamic ? lost - values->value_of(taken) : lost;
}

}  // namespace

std::int32_t slice_value(const TermInput& input) {
  std::int64_t cost = 0;  // millionths of a GPU
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode != GpuMode::kMig || !is_first_on_its_gpu(input.placement, take)) continue;
    cost += value_lost(input, take.gpu);
  }
  return points(rounded_to_step(cost) * kOne / 1000);
}

std::int32_t slice_reuse(const TermInput& input) {
  std::int32_t to_create = 0;
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode != GpuMode::kMig || take.milli == 0) continue;
    const GpuInfo& gpu = *input.node.gpus[take.gpu].info;
    const bool exists = std::ranges::any_of(gpu.mig_instances, [&](const Slice& slice) {
      return placement_of(*gpu.mig_table, slice) == take.slice;
    });
    to_create += exists ? 0 : 1;
  }
  return std::max(-kTermBound, -kNewSlicePoints * to_create);
}

}  // namespace snug
