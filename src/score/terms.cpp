#include "snug/score/terms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "score/demand_terms.hpp"

namespace snug::score {
namespace {

constexpr std::int64_t kFull = 1000;            // the whole of an amount, in thousandths
constexpr std::int64_t kMilliSumPerGpu = 2000;  // GpuState::free_milli_sum of an empty GPU

/// The GPU capacity that is free after the placement, in thousandths of the whole capacity.
struct FreeAfter {
  std::int64_t on_node = 0;  // on all GPUs of the node
  std::int64_t on_gpus = 0;  // on the GPUs of the placement
};

/// Converts `room`, in the units of GpuState::free_milli_sum, to thousandths of `gpus` GPUs, at
/// least 0.
std::int32_t thousandths(std::int64_t room, std::size_t gpus) {
  constexpr std::int64_t kDivisor = kMilliSumPerGpu / kFull;
  return std::max(0, static_cast<std::int32_t>(room) /
                         static_cast<std::int32_t>(kDivisor * static_cast<std::int64_t>(gpus)));
}

FreeAfter free_after(const TermInput& input) {
  const model::NodeState& node = input.node;
  FreeAfter free;
  if (input.placement.allocations.empty()) {
    std::int64_t all_units = 0;
    std::int64_t used_units = 0;
    for (const auto& [resource, units] : node.inventory->kubelet_allocatable) all_units += units;
    for (const auto& [resource, units] : node.kubelet_used) used_units += units;
    for (const model::ContainerRequest& container : input.request.containers)
      used_units += container.count;
    free.on_node = all_units > 0 ? std::clamp(kFull * (all_units - used_units) / all_units,
                                              std::int64_t{0}, kFull)
                                 : 0;
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

/// Returns kTermBound - (90 * on_gpus + 10 * on_node): prefers full GPUs, then full nodes.
std::int32_t best_fit(const TermInput& input) {
  const FreeAfter free = free_after(input);
  return static_cast<std::int32_t>(kTermBound - (90 * free.on_gpus + 10 * free.on_node));
}

/// Returns 90 * on_node + 10 * on_gpus: prefers empty nodes, then empty GPUs.
std::int32_t spread(const TermInput& input) {
  const FreeAfter free = free_after(input);
  return static_cast<std::int32_t>(90 * free.on_node + 10 * free.on_gpus);
}

/// Whether one container gets both GPUs, so that it can use the NVLinks between them.
bool share_container(model::PlacementView placement, std::size_t a, std::size_t b) {
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    if (allocation.gpu != a) continue;
    for (const model::DeviceAllocation& peer : placement.allocations) {
      if (peer.gpu == b && peer.container == allocation.container) return true;
    }
  }
  return false;
}

/// Numbers of NVLinks at the GPUs of a placement. A link between two GPUs of the placement counts
/// twice, once for each end.
struct Links {
  std::int64_t within_container = 0;  // links between two GPUs of one container
  /// Links from an empty GPU of the placement to another empty GPU, if no container gets both.
  std::int64_t cut = 0;
  /// The number of GPUs of the placement, multiplied by the largest number of links of any GPU.
  std::int64_t possible = 0;
};

Links links_of(const model::NodeState& node, model::PlacementView placement) {
  std::vector<bool> is_placed(node.gpus.size());
  for (const model::DeviceAllocation& allocation : placement.allocations)
    is_placed[allocation.gpu] = true;
  Links links;
  std::int64_t most_links = 0;
  for (std::size_t a = 0; a < is_placed.size(); ++a) {
    std::int64_t gpu_links = 0;
    for (std::size_t b = 0; b < is_placed.size(); ++b) {
      const int nvlinks = a == b ? 0 : node.nvlinks_between(a, b);
      gpu_links += nvlinks;
      if (!is_placed[a] || nvlinks == 0) continue;
      if (is_placed[b] && share_container(placement, a, b)) {
        links.within_container += nvlinks;
      } else if (node.gpus[a].empty() && node.gpus[b].empty()) {
        links.cut += nvlinks;
      }
    }
    most_links = std::max(most_links, gpu_links);
    links.possible += is_placed[a] ? 1 : 0;
  }
  links.possible *= most_links;
  return links;
}

/// Returns kTermBound / 2 * (within_container - cut) / possible.
std::int32_t nvlink_locality(const TermInput& input) {
  const model::NodeState& node = input.node;
  if (input.placement.allocations.empty() || node.inventory->nvlinks.empty()) return 0;
  const Links links = links_of(node, input.placement);
  if (links.possible == 0) return 0;
  constexpr std::int64_t kHalf = kTermBound / 2;
  return static_cast<std::int32_t>(kHalf * (links.within_container - links.cut) / links.possible);
}

/// Returns kTermBound * u / 100, where u is the mean over the GPUs of the percentage that is not in
/// use: 100 minus the larger of memory and compute of GpuInfo::load. A GPU without load counts as
/// fully used, and so does one whose node's agent is silent. A pod whose GPUs the kubelet chooses
/// is rated by all GPUs of the node.
std::int32_t least_used(const TermInput& input) {
  const model::NodeInventory& inventory = *input.node.inventory;
  if (!inventory.agent_alive) return 0;
  std::int64_t unused_percent = 0;
  std::int64_t gpus = 0;
  const auto add = [&](const model::GpuInfo& gpu) {
    if (gpu.load)
      unused_percent += 100 - std::max(gpu.load->memory_percent, gpu.load->compute_percent);
    ++gpus;
  };
  if (input.placement.allocations.empty()) std::ranges::for_each(inventory.gpus, add);
  for (const model::DeviceAllocation& allocation : input.placement.allocations) {
    if (model::is_first_on_gpu(input.placement, allocation))
      add(*input.node.gpus[allocation.gpu].info);
  }
  return gpus == 0 ? 0 : static_cast<std::int32_t>(kTermBound * unused_percent / (100 * gpus));
}

constexpr auto kTerms = std::to_array<TermRow>({
    {"best-fit", best_fit, "prefers placements that leave little free on their GPUs and node"},
    {"fgd", fgd, "prefers placements that add little fragmentation to their node (FGD)"},
    {"least-used", least_used,
     "prefers GPUs whose memory and compute are measured to be little used", true},
    {"left-over-size", left_over_size, "prefers shares that leave little free on their GPU"},
    {"left-over-value", left_over_value,
     "prefers shares after which the free part of their GPU keeps its value for other shares"},
    {"model-scarcity", model_scarcity,
     "prefers GPU models on which few pods depend, relative to the number of GPUs of the model"},
    {"multi-gpu-room", multi_gpu_room,
     "prefers placements that take little headroom from pods with several GPUs"},
    {"nvlink-locality", nvlink_locality,
     "prefers GPUs of one container with many NVLinks between them and few to other empty GPUs"},
    {"slice-reuse", slice_reuse, "prefers placements for which few MIG slices must be created"},
    {"slice-value", slice_value,
     "prefers slices after which their MIG cards keep their value for future slices"},
    {"spread", spread, "prefers placements that leave much free on their node and GPUs"},
    {"stranded-gpu", stranded_gpu,
     "prefers placements that leave enough CPU and memory for the free GPUs of their node"},
});

}  // namespace

std::span<const TermRow> all_terms() { return kTerms; }

const TermRow* find_term(std::string_view name) {
  const auto* term = std::find_if(kTerms.begin(), kTerms.end(),
                                  [&](const TermRow& row) { return row.name == name; });
  return term == kTerms.end() ? nullptr : &*term;
}

}  // namespace snug::score
