#include "plan/apart.hpp"

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
  // Equal numbers are equal models, and above the positions of GPUs no two are equal.
  constexpr std::size_t kOwnModels = 32'768;
  auto same = std::make_shared<NodeState>(state);
  for (std::size_t gpu = 0; gpu < marks.size() && gpu < same->gpus.size(); ++gpu) {
    if (marks[gpu]) same->gpus[gpu].model = static_cast<std::uint16_t>(kOwnModels + gpu);
  }
  return same;
}

}  // namespace snug
