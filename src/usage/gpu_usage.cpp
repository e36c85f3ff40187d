#include "snug/usage/gpu_usage.hpp"

#include <algorithm>

#include "snug/usage/node_room.hpp"

namespace snug::usage {
namespace {

/// For each GPU of the node: the number of pods that hold a device of it.
std::vector<std::int64_t> pods_by_gpu(const model::NodeState& node) {
  std::vector<std::int64_t> pods(node.gpus.size());
  std::vector<const model::Holding*> last_pod(node.gpus.size());
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      for (const model::ReservedDevice& device : container.devices()) {
        const auto position = node.find_gpu(device);
        if (!position || last_pod[*position] == holding.get()) continue;
        last_pod[*position] = holding.get();
        ++pods[*position];
      }
    }
  }
  return pods;
}

}  // namespace

std::vector<GpuUsage> gpu_usage(const model::Snapshot& snapshot, std::size_t max_gpus) {
  std::vector<const model::NodeState*> nodes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node != nullptr && !node->inventory->gpus.empty()) nodes.push_back(node.get());
  }
  std::ranges::sort(nodes, {},
                    [](const model::NodeState* node) -> std::string_view { return node->name(); });
  std::vector<GpuUsage> rows;
  for (const model::NodeState* node : nodes) {
    const std::vector<std::int64_t> pods = pods_by_gpu(*node);
    const std::vector<base::MilliGpu> kubelet = kubelet_compute(*node);
    for (std::size_t i = 0; i < node->inventory->gpus.size(); ++i) {
      if (rows.size() >= max_gpus) return rows;
      const model::GpuState& gpu = node->gpus[i];
      rows.push_back({.node = node->name(),
                      .index = gpu.info->index,
                      .uuid = gpu.info->uuid,
                      .model = gpu.info->model,
                      .memory = gpu.memory,
                      .memory_held = gpu.used_memory,
                      .compute_held = gpu.used_compute + kubelet[i],
                      .pods = pods[i],
                      .mode = gpu.mode,
                      .closure = gpu.closure});
    }
  }
  return rows;
}

}  // namespace snug::usage
