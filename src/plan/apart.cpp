#include "snug/plan/apart.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace snug {

void mark_gpus(const NodeState& node, const Holding& holding, GpuMarks& marks) {
  for (const ReservedContainer& container : holding.reservation.containers) {
    const auto* devices = std::get_if<std::vector<ReservedDevice>>(&container.given);
    if (devices == nullptr) continue;
    for (const ReservedDevice& device : *devices) {
      const std::optional<std::size_t> gpu = node.gpu_of(device);
      if (!gpu) continue;
      marks.resize(node.gpus.size());
      marks[*gpu] = true;
    }
  }
}

NodeStatePtr told_apart(const NodeState& state, const GpuMarks& marks) {
  auto same = std::make_shared<NodeState>(state);
  for (std::size_t gpu = 0; gpu < marks.size() && gpu < same->gpus.size(); ++gpu) {
    if (marks[gpu]) same->gpus[gpu].told_apart = static_cast<std::uint16_t>(gpu + 1);
  }
  return same;
}

}  // namespace snug
