#include "snug/model/snapshot.hpp"

#include <algorithm>

namespace snug {

NodeTable::NodeTable(const std::vector<NodeStatePtr>& nodes) : size_(nodes.size()) {
  for (std::size_t first = 0; first < nodes.size(); first += kChunk) {
    auto chunk = std::make_shared<Chunk>();
    for (std::size_t i = 0; i < kChunk && first + i < nodes.size(); ++i) {
      chunk->states[i] = nodes[first + i];
    }
    chunks_.push_back(std::move(chunk));
  }
}

std::optional<std::size_t> NodeState::gpu_of(const ReservedDevice& device) const {
  if (const auto known = inventory->gpu_of(device.index, device.uuid)) return known;
  const auto gone = std::ranges::find_if(vanished, [&](const GpuInfo& gpu) {
    return gpu.index == device.index && gpu.uuid == device.uuid;
  });
  if (gone == vanished.end()) return std::nullopt;
  return inventory->gpus.size() + static_cast<std::size_t>(gone - vanished.begin());
}

}  // namespace snug
