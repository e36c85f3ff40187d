#include "snug/score/terms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "score/demand_terms.hpp"
#include "score/fgd.hpp"
#include "score/slice_terms.hpp"

namespace snug::score {
namespace {

constexpr std::int64_t kFull = 1000;            // thousandths
constexpr std::int64_t kMilliSumPerGpu = 2000;  // GpuState::free_milli_sum of an empty GPU

/// What the placement leaves free.
struct FreeAfter {
  std::int64_t on_node = 0;  // thousandths of all GPUs of the node
  std::int64_t on_gpus = 0;  // thousandths of the GPUs that the placement uses, their mean
};

/// `room` as thousandths of as many GPUs, at least 0.
std::int32_t thousandths(std::int64_t room, std::size_t gpus) {
  constexpr std::int64_t kDivisor = kMilliSumPerGpu / kFull;
  return std::max(0, static_cast<std::int32_t>(room) /
                         static_cast<std::int32_t>(kDivisor * static_cast<std::int64_t>(gpus)));
}

FreeAfter free_after(const TermInput& input) {
  const model::NodeState& node = input.node;
  FreeAfter free;
  if (input.placement.allocations.empty()) {
    std::int64_t all = 0;
    std::int64_t used = 0;
    for (const auto& [resource, units] : node.inventory->kubelet_allocatable) all += units;
    for (const auto& [resource, units] : node.kubelet_used) used += units;
    for (const model::ContainerRequest& container : input.request.containers)
      used += container.count;
    free.on_node = all > 0 ? std::clamp(kFull * (all - used) / all, std::int64_t{0}, kFull) : 0;
    return free;
  }
  std::int64_t node_room = node.free_milli_sum;
  std::int64_t gpu_room = 0;
  std::size_t gpus = 0;
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    node_room -= allocation.milli_sum;
    gpu_room -= allocation.milli_sum;
    if (!model::is_first_on_gpu(input.placement, allocation)) continue;
    gpu_room += node.gpus[allocation.gpu].free_milli_sum;
    ++gpus;
  }
  free.on_node = thousandths(node_room, node.gpus.size());
  free.on_gpus = thousandths(gpu_room, gpus);
  return free;
}

/// kTermBound - (90 * on_gpus + 10 * on_node): the fullest GPU first, then the fullest node.
std::int32_t best_fit(const TermInput& input) {
  const FreeAfter free = free_after(input);
  return static_cast<std::int32_t>(kTermBound - (90 * free.on_gpus + 10 * free.on_node));
}

/// 90 * on_node + 10 * on_gpus: the emptiest node first, then the emptiest GPU.
std::int32_t spread(const TermInput& input) {
  const FreeAfter free = free_after(input);
  return static_cast<std::int32_t>(90 * free.on_node + 10 * free.on_gpus);
}

/// Whether some container has both GPUs, and so can use the NVLinks between them.
bool share_container(model::PlacementView placement, std::size_t a, std::size_t b) {
  for (const model::DeviceAllocation& one : placement.allocations) {
    if (one.gpu != a) continue;
    for (const model::DeviceAllocation& other : placement.allocations) {
      if (other.gpu == b && other.container == one.container) return true;
    }
  }
  return false;
}

/// NVLinks at the GPUs of a placement, each counted at both ends.
struct Links {
  std::int64_t within_container = 0;  // between two GPUs of one container
  std::int64_t cut = 0;               // between two empty GPUs that no container has both of
  std::int64_t possible = 0;  // the largest number at any GPU of the node * GPUs of the placement
};

Links links_of(const model::NodeState& node, model::PlacementView placement) {
  std::vector<bool> taken(node.gpus.size());
  for (const model::DeviceAllocation& allocation : placement.allocations)
    taken[allocation.gpu] = true;
  Links links;
  std::int64_t most = 0;
  for (std::size_t a = 0; a < taken.size(); ++a) {
    std::int64_t all = 0;
    for (std::size_t b = 0; b < taken.size(); ++b) {
      const int between = a == b ? 0 : node.nvlinks_between(a, b);
      all += between;
      if (!taken[a] || between == 0) continue;
      if (taken[b] && share_container(placement, a, b)) {
        links.within_container += between;
      } else if (node.gpus[a].empty() && node.gpus[b].empty()) {
        links.cut += between;
      }
    }
    most = std::max(most, all);
    links.possible += taken[a] ? 1 : 0;
  }
  links.possible *= most;
  return links;
}

/// kTermBound / 2 * (inside - cut) / most.
std::int32_t nvlink_locality(const TermInput& input) {
  const model::NodeState& node = input.node;
  if (input.placement.allocations.empty() || node.inventory->nvlinks.empty()) return 0;
  const Links links = links_of(node, input.placement);
  if (links.possible == 0) return 0;
  constexpr std::int64_t kHalf = kTermBound / 2;
  return static_cast<std::int32_t>(kHalf * (links.within_container - links.cut) / links.possible);
}

constexpr auto kTerms = std::to_array<TermRow>({
    {"best-fit", best_fit, "the less the placement leaves free on its GPUs, then on its node"},
    {"fgd", fgd, "the less the placement adds to the node's fragmentation (FGD)"},
    {"left-over-size", left_over_size, "the less a share leaves of its GPU"},
    {"left-over-value", left_over_value,
     "the less a share takes from the value of its GPU's left-over, beyond its price"},
    {"model-scarcity", model_scarcity,
     "the less demand is limited to the GPUs' models, in proportion to their number"},
    {"multi-gpu-room", multi_gpu_room,
     "the less headroom it takes from pods that need several GPUs at once"},
    {"nvlink-locality", nvlink_locality,
     "the more NVLinks join a container's GPUs, and the fewer are cut between empty ones"},
    {"slice-reuse", slice_reuse, "the fewer MIG slices have to be created"},
    {"slice-value", slice_value,
     "the less value MIG cards lose for the slices to come, beyond the price of the pod's own"},
    {"spread", spread, "the more the placement leaves free on its node, then on its GPUs"},
    {"stranded-gpu", stranded_gpu,
     "the less idle GPU it strands without the CPU and memory that pods need with it"},
});

}  // namespace

std::span<const TermRow> all_terms() { return kTerms; }

const TermRow* find_term(std::string_view name) {
  const auto* found = std::find_if(kTerms.begin(), kTerms.end(),
                                   [&](const TermRow& row) { return row.name == name; });
  return found == kTerms.end() ? nullptr : &*found;
}

}  // namespace snug::score
