#include "snug/usage/node_room.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "snug/fit/mig_free.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::usage {
namespace {

bool is_open_and_empty(const model::GpuState& gpu) {
  return gpu.closure == model::GpuClosure::kOpen && gpu.empty() && !gpu.info->mig_enabled;
}

/// The number of whole GPUs that the kubelet can still assign. 0 if the units of nvidia.com/gpu are
/// replicas or slices.
std::int64_t units_left(const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  if (node.kubelet_refusal != model::ReasonCode::kNone || inventory.replicas > 1 ||
      inventory.milli_per_unit.contains(model::kGpuResource)) {
    return 0;
  }
  return model::units_of(inventory.kubelet_allocatable, model::kGpuResource) -
         model::units_of(node.kubelet_used, model::kGpuResource);
}

/// The largest slice that is available on a GPU in MIG mode.
std::optional<FreePart> free_slice(const model::NodeState& node, const model::GpuState& gpu) {
  const fit::MigFree free = fit::mig_free(*node.inventory, gpu);
  if (!free.table) return std::nullopt;
  std::optional<FreePart> largest;
  for (std::size_t i = 0; i < free.table->profiles.size(); ++i) {
    const model::MigProfile& profile = free.table->profiles[i];
    const base::MilliGpu compute = mig::slice_compute(*free.table, profile);
    const std::int64_t axis_milli = 1000 * profile.size / free.table->memory_slices;
    const FreePart part{.share = {compute, profile.memory, node.name(), gpu.info->index},
                        .milli = std::min(axis_milli, compute.value)};
    if (largest && !part.is_better_than(*largest)) continue;
    if (free.open_anywhere(static_cast<std::uint16_t>(i))) largest = part;
  }
  return largest;
}

}  // namespace

std::vector<bool> free_whole_gpus(const model::NodeState& node) {
  const std::size_t count = node.gpus.size();
  std::vector<bool> by_annotation(count, false);
  std::vector<bool> by_kubelet(count, false);
  std::int64_t left = units_left(node);
  for (std::size_t i = count; i-- > 0;) {
    const model::GpuState& gpu = node.gpus[i];
    if (!is_open_and_empty(gpu)) continue;
    by_annotation[i] = node.annotated_refusal == model::ReasonCode::kNone && gpu.allows_whole;
    by_kubelet[i] = left-- > 0;
  }
  const bool kubelet_has_more =
      std::ranges::count(by_kubelet, true) > std::ranges::count(by_annotation, true);
  return kubelet_has_more ? by_kubelet : by_annotation;
}

std::vector<base::MilliGpu> kubelet_compute(const model::NodeState& node) {
  std::vector<base::MilliGpu> compute(node.gpus.size());
  base::MilliGpu left{node.kubelet_milli};
  for (base::MilliGpu& of_gpu : compute) {
    of_gpu = std::min(left, base::kWholeGpu);
    left += -of_gpu;
  }
  if (!compute.empty()) compute.front() += left;
  return compute;
}

bool FreePart::is_better_than(const FreePart& other) const {
  if (milli != other.milli) return milli > other.milli;
  if (share.memory != other.share.memory) return share.memory > other.share.memory;
  return std::tie(share.node, share.gpu) < std::tie(other.share.node, other.share.gpu);
}

std::optional<FreePart> free_part(const model::NodeState& node, std::size_t position) {
  const model::GpuState& gpu = node.gpus[position];
  if (node.annotated_refusal != model::ReasonCode::kNone ||
      gpu.closure != model::GpuClosure::kOpen || gpu.memory.value <= 0) {
    return std::nullopt;
  }
  if (gpu.info->mig_enabled) return free_slice(node, gpu);
  const bool can_be_shared = gpu.sharing_mode != model::GpuMode::kNone &&
                             (gpu.empty() || model::is_sharing_mode(gpu.mode));
  if (!can_be_shared && !(gpu.empty() && gpu.allows_whole)) return std::nullopt;
  const base::MebiBytes memory = std::max(base::MebiBytes{0}, gpu.free_memory());
  const base::MilliGpu compute = std::max(base::MilliGpu{0}, gpu.free_compute());
  const std::int64_t milli = std::min(1000 * memory.value / gpu.memory.value, compute.value);
  if (memory.value == 0 || compute.value == 0) return std::nullopt;
  return FreePart{.share = {compute, memory, node.name(), gpu.info->index}, .milli = milli};
}

}  // namespace snug::usage
