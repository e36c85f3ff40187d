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

std::string_view to_string(GpuClosure closure) {
  switch (closure) {
    case GpuClosure::kOpen:
      return "";
    case GpuClosure::kUnhealthy:
      return "unhealthy";
    case GpuClosure::kVanished:
      return "reserved, and no longer in the node's inventory";
    case GpuClosure::kChanged:
      return "it, or a slice of it, is no longer the one that reservations name";
    case GpuClosure::kOverCommitted:
      return "over-committed: its holders add up to more than it has";
    case GpuClosure::kModeConflict:
      return "holders of different modes meet on it";
    case GpuClosure::kSuspect:
      return "a reservation on it disagrees with its own request or with the inventory";
    case GpuClosure::kNoMigTable:
      return "in MIG mode, and the inventory gives no migProfiles for this model and memory, nor "
             "are "
             "they built in";
  }
  return "";
}

std::string_view to_string(NodeConflict conflict) {
  switch (conflict) {
    case NodeConflict::kNone:
      return "";
    case NodeConflict::kMixedKinds:
      return "annotated and kubelet-assigned pods meet on it, and may have been given one GPU";
    case NodeConflict::kUnitsOverTaken:
      return "over-committed: its kubelet-assigned pods hold more units than it has";
  }
  return "";
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
