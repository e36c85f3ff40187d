#include "snug/plan/gpu_marks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace snug::plan {

void mark_gpus(const model::NodeState& node, const model::Holding& holding, GpuMarks& marks) {
  for (const model::ReservedContainer& container : holding.reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) {
      const std::optional<std::size_t> gpu = node.find_gpu(device);
      if (!gpu) continue;
      marks.resize(node.gpus.size());
      marks[*gpu] = true;
    }
  }
}

model::NodeStatePtr with_distinct_gpus(const model::NodeState& state, const GpuMarks& marks) {
  auto distinct_state = std::make_shared<model::NodeState>(state);
  for (std::size_t gpu = 0; gpu < marks.size() && gpu < distinct_state->gpus.size(); ++gpu) {
    if (marks[gpu]) distinct_state->gpus[gpu].distinct_id = static_cast<std::uint16_t>(gpu + 1);
  }
  return distinct_state;
}

}  // namespace snug::plan
