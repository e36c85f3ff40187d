#include "snug/score/fragmentation.hpp"

#include <cstddef>
#include <limits>

namespace snug {

FragmentationView fragmentation_view(const NodeState& node) {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;
  FragmentationView view{
      .free_cpu_milli = node.inventory->host.known ? node.host_left().cpu_milli : kUnlimited,
      .gpus = {}};
  view.gpus.reserve(node.gpus.size());
  for (const GpuState& gpu : node.gpus) {
    FragmentationView::Gpu& added = view.gpus.emplace_back(
        FragmentationView::Gpu{gpu.left, ModelSet{1} << gpu.info->model_number});
    if (!takes_slices(*gpu.info)) continue;
    added.mig_number = gpu.info->mig_number;
    added.slices = mig_free(*node.inventory, gpu);
  }
  return view;
}

namespace {

/// Whether the GPU can hold one GPU's part of the pod.
bool can_host(const FragmentationView::Gpu& gpu, const TypicalPod& pod) {
  if ((gpu.model & pod.models) == 0) return false;
  if (!gpu.slices) return gpu.free_milli >= pod.gpu_milli;
  const std::size_t number = gpu.mig_number;
  if (gpu.free_milli == 0 || number >= pod.profiles.size() || pod.profiles[number] == 0)
    return false;
  return gpu.slices->open_anywhere(static_cast<std::uint16_t>(pod.profiles[number] - 1));
}

}  // namespace

std::int64_t fragmentation(const FragmentationView& node, std::span<const TypicalPod> typical) {
  std::int64_t free = 0;
  for (const FragmentationView::Gpu& gpu : node.gpus) free += gpu.free_milli;
  if (free == 0) return 0;
  std::int64_t sum = 0;
  for (const TypicalPod& pod : typical) {
    std::int64_t fitting = 0;
    std::int64_t too_small = 0;
    for (const FragmentationView::Gpu& gpu : node.gpus) {
      const bool fits = can_host(gpu, pod);
      fitting += fits ? 1 : 0;
      too_small += fits ? 0 : gpu.free_milli;
    }
    const bool hosted = pod.gpus > 0 && fitting >= pod.gpus && pod.cpu_milli <= node.free_cpu_milli;
    sum += pod.share * (hosted ? too_small : free);
  }
  return sum;
}

}  // namespace snug
