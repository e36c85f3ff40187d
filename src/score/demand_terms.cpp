#include "score/demand_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "score/cost.hpp"
#include "score/multi_gpu_headroom.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"

namespace snug {
namespace {

HostLeft without(const HostLeft& free, const HostAmounts& requested) {
  return {saturating_subtract(free.cpu_milli, requested.cpu_milli),
          saturating_subtract(free.memory_mib, requested.memory_bytes >> 20)};
}

/// What the pod takes of the node's GPUs.
std::int64_t milli_of(const TermInput& input) {
  std::int64_t milli = 0;
  for (const DeviceTake& take : input.placement.takes) milli += take.milli;
  if (!input.request.kubelet_assigned()) return milli;
  for (const ContainerRequest& asked : input.request.containers) {
    const std::string& resource = std::get<KubeletAsk>(asked.ask).resource;
    milli += asked.count * unit_compute(*input.node.inventory, resource).value;
  }
  return milli;
}

std::int64_t stranded(const TermInput& input, const HostLeft& free, std::int64_t gpu_milli) {
  const HostAmounts& all = input.node.inventory->host.amounts;
  return std::max(input.demand.cpu.stranded(free.cpu_milli, all.cpu_milli, gpu_milli),
                  input.demand.memory.stranded(free.memory_mib, all.memory_bytes >> 20, gpu_milli));
}

/// What is free on the take's GPU beside the placement's earlier takes.
std::int64_t free_for(const TermInput& input, const DeviceTake& take) {
  std::int64_t free = input.node.gpus[take.gpu].left;
  for (const DeviceTake& earlier : input.placement.takes) {
    if (&earlier == &take) break;
    if (earlier.gpu == take.gpu) free -= earlier.milli;
  }
  return free;
}

}  // namespace

std::int32_t stranded_gpu(const TermInput& input) {
  const NodeState& node = input.node;
  if (!node.inventory->host.known || node.left == 0) return 0;
  const std::int64_t idle_after = std::max<std::int64_t>(0, node.left - milli_of(input));
  const HostLeft free = node.host_left();
  return points(stranded(input, without(free, input.host), idle_after) -
                stranded(input, free, node.left));
}

std::int32_t left_over_value(const TermInput& input) {
  std::int64_t cost = 0;  // millionths of a GPU
  for (const DeviceTake& take : input.placement.takes) {
    const GpuState& gpu = input.node.gpus[take.gpu];
    const LeftOverTable* table = input.demand.left_over_for(gpu.memory);
    const std::int64_t free = free_for(input, take);
    const bool share = take.mode != GpuMode::kWhole && take.mode != GpuMode::kMig;
    if (table == nullptr || !share || take.milli > free || take.milli < 0) continue;
    const auto left = static_cast<std::size_t>(free);
    const auto size = static_cast<std::size_t>(take.milli);
    cost += std::max(0, table->value[left] - table->value[left - size] - table->price[size]);
  }
  return points(cost * kOne / 1000);
}

std::int32_t left_over_size(const TermInput& input) {
  std::int64_t left = 0;
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode == GpuMode::kWhole || take.mode == GpuMode::kMig) continue;
    if (is_first_on_its_gpu(input.placement, take)) left += input.node.gpus[take.gpu].left;
    left -= take.milli;
  }
  return points(left * kOne);
}

std::int32_t multi_gpu_room(const TermInput& input) {
  const std::vector<MultiGpuShape>& shapes = input.demand.multi_gpu_shapes;
  if (shapes.empty()) return 0;
  const MultiGpuHeadroom before(input.node);
  return points(before.value(shapes) -
                before.after(input.placement, milli_of(input), input.host).value(shapes));
}

std::int32_t model_scarcity(const TermInput& input) {
  std::int64_t cost = 0;
  for (const DeviceTake& take : input.placement.takes) {
    const GpuState& gpu = input.node.gpus[take.gpu];
    cost += take.milli * input.demand.scarcity[gpu.info->model_number];
  }
  return points(cost);
}

}  // namespace snug
