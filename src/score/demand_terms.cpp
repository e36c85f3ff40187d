#include "score/demand_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "score/cost.hpp"
#include "score/multi_gpu_headroom.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"

namespace snug::score {
namespace {

model::HostFree host_without(const model::HostFree& free, const model::HostResources& requested) {
  return {saturating_subtract(free.cpu_milli, requested.cpu_milli),
          saturating_subtract(free.memory_mib, requested.memory_bytes >> 20)};
}

/// The milli-GPU that the pod takes of the node.
std::int64_t milli_of(const TermInput& input) {
  std::int64_t milli = 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations)
    milli += allocation.milli;
  if (!input.request.is_kubelet_assigned()) return milli;
  for (const model::ContainerRequest& container : input.request.containers) {
    const std::string& resource = std::get<model::KubeletRequest>(container.device).resource;
    milli += container.count * fit::unit_compute(*input.node.inventory, resource).value;
  }
  return milli;
}

std::int64_t stranded(const TermInput& input, const model::HostFree& free, std::int64_t gpu_milli) {
  const model::HostResources& allocatable = input.node.inventory->host.resources;
  return std::max(
      input.demand.cpu.stranded(free.cpu_milli, allocatable.cpu_milli, gpu_milli),
      input.demand.memory.stranded(free.memory_mib, allocatable.memory_bytes >> 20, gpu_milli));
}

/// The milli-GPU that are free on the allocation's GPU after the earlier allocations of the
/// placement.
std::int64_t free_for(const TermInput& input, const model::DeviceAllocation& allocation) {
  std::int64_t free = input.node.gpus[allocation.gpu].free_milli;
  for (const model::DeviceAllocation& earlier : input.placement.allocations) {
    if (&earlier == &allocation) break;
    if (earlier.gpu == allocation.gpu) free -= earlier.milli;
  }
  return free;
}

}  // namespace

std::int32_t stranded_gpu(const TermInput& input) {
  const model::NodeState& node = input.node;
  if (!node.inventory->host.known || node.free_milli == 0) return 0;
  const std::int64_t idle_after = std::max<std::int64_t>(0, node.free_milli - milli_of(input));
  const model::HostFree free = node.host_free();
  return points(stranded(input, host_without(free, input.host), idle_after) -
                stranded(input, free, node.free_milli));
}

std::int32_t left_over_value(const TermInput& input) {
  std::int64_t cost = 0;  // in millionths of a GPU
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    const model::GpuState& gpu = input.node.gpus[allocation.gpu];
    const model::LeftOverTable* table = input.demand.left_over_for(gpu.memory);
    const std::int64_t free = free_for(input, allocation);
    const bool share =
        allocation.mode != model::GpuMode::kWhole && allocation.mode != model::GpuMode::kMig;
    if (table == nullptr || !share || allocation.milli > free || allocation.milli < 0) continue;
    const auto milli_before = static_cast<std::size_t>(free);
    const auto share_milli = static_cast<std::size_t>(allocation.milli);
    cost += std::max(0, table->value[milli_before] - table->value[milli_before - share_milli] -
                            table->price[share_milli]);
  }
  return points(cost * model::kFixedPointOne / 1000);
}

std::int32_t left_over_size(const TermInput& input) {
  std::int64_t left_over_milli = 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    if (allocation.mode == model::GpuMode::kWhole || allocation.mode == model::GpuMode::kMig)
      continue;
    if (model::is_first_on_gpu(input.placement, allocation))
      left_over_milli += input.node.gpus[allocation.gpu].free_milli;
    left_over_milli -= allocation.milli;
  }
  return points(left_over_milli * model::kFixedPointOne);
}

std::int32_t multi_gpu_room(const TermInput& input) {
  const std::vector<model::MultiGpuShape>& shapes = input.demand.multi_gpu_shapes;
  if (shapes.empty()) return 0;
  const MultiGpuHeadroom before(input.node);
  return points(before.value(shapes) -
                before.after(input.placement, milli_of(input), input.host).value(shapes));
}

std::int32_t model_scarcity(const TermInput& input) {
  std::int64_t cost = 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    const model::GpuState& gpu = input.node.gpus[allocation.gpu];
    cost += allocation.milli * input.demand.scarcity[gpu.info->model_id];
  }
  return points(cost);
}

}  // namespace snug::score
