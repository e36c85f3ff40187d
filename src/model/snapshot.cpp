#include "snug/model/snapshot.hpp"

#include <algorithm>

namespace snug::model {

NodeTable::NodeTable(const std::vector<NodeStatePtr>& nodes) : size_(nodes.size()) {
  for (std::size_t first = 0; first < nodes.size(); first += kChunkSize) {
    auto chunk = std::make_shared<Chunk>();
    for (std::size_t i = 0; i < kChunkSize && first + i < nodes.size(); ++i) {
      chunk->states[i] = nodes[first + i];
    }
    chunks_.push_back(std::move(chunk));
  }
}

std::optional<std::size_t> NodeState::find_gpu(const ReservedDevice& device) const {
  if (const auto gpu_position = inventory->find_gpu(device.index, device.uuid)) return gpu_position;
  const auto vanished_gpu = std::ranges::find_if(vanished, [&](const GpuInfo& gpu) {
    return gpu.index == device.index && gpu.uuid == device.uuid;
  });
  if (vanished_gpu == vanished.end()) return std::nullopt;
  return inventory->gpus.size() + static_cast<std::size_t>(vanished_gpu - vanished.begin());
}

}  // namespace snug::model
