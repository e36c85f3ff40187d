#include "snug/score/fragmentation.hpp"

#include <cstddef>
#include <limits>

namespace snug::score {

FragmentationView fragmentation_view(const model::NodeState& node) {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;
  FragmentationView view{
      .free_cpu_milli = node.inventory->host.known ? node.host_free().cpu_milli : kUnlimited,
      .gpus = {}};
  view.gpus.reserve(node.gpus.size());
  for (const model::GpuState& gpu : node.gpus) {
    FragmentationView::Gpu& gpu_view = view.gpus.emplace_back(
        FragmentationView::Gpu{gpu.free_milli, model::ModelSet{1} << gpu.info->model_id});
    if (!fit::serves_slices(*gpu.info)) continue;
    gpu_view.mig_number = gpu.info->mig_table_id;
    gpu_view.slices = fit::mig_free(*node.inventory, gpu);
  }
  return view;
}

namespace {

/// Whether the GPU can serve one of the GPUs or slices that the pod requests.
bool can_host(const FragmentationView::Gpu& gpu, const model::TypicalPod& pod) {
  if ((gpu.model & pod.models) == 0) return false;
  if (!gpu.slices) return gpu.free_milli >= pod.gpu_milli;
  const std::size_t mig_number = gpu.mig_number;
  if (gpu.free_milli == 0 || mig_number >= pod.profiles.size() || pod.profiles[mig_number] == 0)
    return false;
  return gpu.slices->open_anywhere(static_cast<std::uint16_t>(pod.profiles[mig_number] - 1));
}

}  // namespace

std::int64_t fragmentation(const FragmentationView& node,
                           std::span<const model::TypicalPod> typical) {
  std::int64_t free = 0;
  for (const FragmentationView::Gpu& gpu : node.gpus) free += gpu.free_milli;
  if (free == 0) return 0;
  std::int64_t unusable_milli = 0;
  for (const model::TypicalPod& pod : typical) {
    std::int64_t fitting = 0;
    std::int64_t too_small = 0;
    for (const FragmentationView::Gpu& gpu : node.gpus) {
      const bool fits = can_host(gpu, pod);
      fitting += fits ? 1 : 0;
      too_small += fits ? 0 : gpu.free_milli;
    }
    const bool hosted = pod.gpus > 0 && fitting >= pod.gpus && pod.cpu_milli <= node.free_cpu_milli;
    unusable_milli += pod.share * (hosted ? too_small : free);
  }
  return unusable_milli;
}

}  // namespace snug::score
