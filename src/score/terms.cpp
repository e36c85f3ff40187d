#include "snug/score/terms.hpp"

#include <algorithm>
#include <array>

namespace snug {
namespace {

constexpr std::int64_t kFull = 1000;        // thousandths
constexpr std::int64_t kRoomPerGpu = 2000;  // GpuState::room of an empty GPU

struct Left {
  std::int64_t on_node = 0;  // thousandths of what the node's GPUs have
  std::int64_t on_gpus = 0;  // thousandths of the GPUs that the placement uses, their mean
};

/// Room in thousandths of what so many GPUs have, at least 0.
std::int32_t thousandths(std::int64_t room, std::size_t gpus) {
  constexpr std::int64_t kDivisor = kRoomPerGpu / kFull;
  return std::max(0, static_cast<std::int32_t>(room) /
                         static_cast<std::int32_t>(kDivisor * static_cast<std::int64_t>(gpus)));
}

/// What the placement leaves free.
Left left_after(const TermInput& input) {
  const NodeState& node = input.node;
  Left left;
  if (input.placement.takes.empty()) {
    std::int64_t all = 0;
    std::int64_t used = 0;
    for (const auto& [resource, units] : node.inventory->kubelet_units) all += units;
    for (const auto& [resource, units] : node.kubelet_used) used += units;
    for (const ContainerRequest& container : input.request.containers) used += container.count;
    left.on_node = all > 0 ? std::clamp(kFull * (all - used) / all, std::int64_t{0}, kFull) : 0;
    return left;
  }
  std::int64_t node_room = node.room;
  std::int64_t gpu_room = 0;
  for (const DeviceTake& take : input.placement.takes) {
    node_room -= take.room;
    gpu_room += node.gpus[take.gpu].room - take.room;
  }
  left.on_node = thousandths(node_room, node.gpus.size());
  left.on_gpus = thousandths(gpu_room, input.placement.takes.size());
  return left;
}

/// The tightest GPU first, then the fullest node: 90 parts of the one to 10 of the other.
std::int32_t best_fit(const TermInput& input) {
  const Left left = left_after(input);
  return static_cast<std::int32_t>(kTermBound - (90 * left.on_gpus + 10 * left.on_node));
}

/// The emptiest node first, then the emptiest GPU.
std::int32_t spread(const TermInput& input) {
  const Left left = left_after(input);
  return static_cast<std::int32_t>(90 * left.on_node + 10 * left.on_gpus);
}

constexpr auto kTerms = std::to_array<TermRow>({
    {"best-fit", best_fit, "the less the placement leaves on its GPUs, then on its node"},
    {"spread", spread, "the more the placement leaves on its node, then on its GPUs"},
});

}  // namespace

std::span<const TermRow> all_terms() { return kTerms; }

const TermRow* find_term(std::string_view name) {
  const auto* found = std::find_if(kTerms.begin(), kTerms.end(),
                                   [&](const TermRow& row) { return row.name == name; });
  return found == kTerms.end() ? nullptr : &*found;
}

}  // namespace snug
