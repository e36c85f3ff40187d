#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "score/cost.hpp"
#include "score/demand_terms.hpp"
#include "snug/demand/fitted.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"

namespace snug::score {
namespace {

std::int64_t rounded_to_step(std::int64_t cost) {
  constexpr std::int64_t kHalf = demand::kSliceCostStep / 2;
  return (cost + (cost < 0 ? -kHalf : kHalf)) / demand::kSliceCostStep * demand::kSliceCostStep;
}

std::int64_t size_millionths(const model::MigTable& table, model::MigPlacement slice) {
  return std::int64_t{1'000'000} * table.profiles[slice.profile].size / table.memory_slices;
}

/// The price of the slice, in millionths of a GPU.
std::int64_t slice_price(const TermInput& input, const model::DeviceAllocation& allocation) {
  const model::GpuState& gpu = input.node.gpus[allocation.gpu];
  const model::ContainerRequest& container = input.request.containers[allocation.container];
  if (!model::is_share(container.device))
    return size_millionths(*gpu.info->mig_table, allocation.slice);
  const fit::Charge cost = fit::charge(container, gpu.memory);
  const std::int64_t milli = std::clamp<std::int64_t>(
      std::max(cost.compute.value, 1000 * cost.memory.value / gpu.memory.value), 0,
      base::kWholeGpu.value);
  const model::LeftOverTable* shares = input.demand.left_over_for(gpu.memory);
  return shares == nullptr ? 1000 * milli : shares->price[static_cast<std::size_t>(milli)];
}

/// The value that the card at `position` loses through the placement's slices, minus the prices of
/// these slices, in millionths of a card. On a card with static slices, each of which exists even
/// while no pod uses it, the value of a slice is its size.
std::int64_t value_lost(const TermInput& input, std::size_t position) {
  const model::GpuState& gpu = input.node.gpus[position];
  const model::MigTable& table = *gpu.info->mig_table;
  const bool dynamic = input.node.inventory->dynamic_mig;
  const model::SliceValueTable* values = input.demand.slice_values_for(gpu.info->mig_table_id);
  if (dynamic && values == nullptr) return 0;
  model::AxisMask taken = fit::mig_free(*input.node.inventory, gpu).use.taken_slices;
  std::int64_t lost_value = dynamic ? values->value_of(taken) : 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    if (allocation.gpu != position || allocation.milli == 0) continue;
    taken |= allocation.slice.range(table);
    lost_value -= slice_price(input, allocation);
    if (!dynamic) lost_value += size_millionths(table, allocation.slice);
  }
  return dynamic ? lost_value - values->value_of(taken) : lost_value;
}

}  // namespace

std::int32_t slice_value(const TermInput& input) {
  std::int64_t cost = 0;  // in millionths of a GPU
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    if (allocation.mode != model::GpuMode::kMig ||
        !model::is_first_on_gpu(input.placement, allocation))
      continue;
    cost += value_lost(input, allocation.gpu);
  }
  return points(rounded_to_step(cost) * model::kFixedPointOne / 1000);
}

std::int32_t slice_reuse(const TermInput& input) {
  std::int32_t slices_to_create = 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    if (allocation.mode != model::GpuMode::kMig || allocation.milli == 0) continue;
    const model::GpuInfo& gpu = *input.node.gpus[allocation.gpu].info;
    const bool slice_exists =
        std::ranges::any_of(gpu.mig_instances, [&](const model::Slice& slice) {
          return model::find_placement(*gpu.mig_table, slice) == allocation.slice;
        });
    slices_to_create += slice_exists ? 0 : 1;
  }
  return std::max(-kTermBound, -demand::kNewSlicePoints * slices_to_create);
}

}  // namespace snug::score
