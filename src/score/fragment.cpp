#include "snug/score/fragment.hpp"

#include <cstddef>
#include <limits>

namespace snug {

FragmentView fragment_view(const NodeState& node) {
  constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 2;
  FragmentView view{.cpu_milli = node.inventory->host.known ? node.host_left().cpu_milli : kEnough,
                    .gpus = {}};
  view.gpus.reserve(node.gpus.size());
  for (const GpuState& gpu : node.gpus) {
    FragmentView::Gpu& seen =
        view.gpus.emplace_back(FragmentView::Gpu{gpu.left, ModelSet{1} << gpu.info->model_number});
    if (!takes_slices(*gpu.info)) continue;
    seen.mig_number = gpu.info->mig_number;
    seen.slices = mig_free(*node.inventory, gpu);
  }
  return view;
}

namespace {

/// Whether one GPU's part of the pod has a place.
bool holds(const FragmentView::Gpu& gpu, const TypicalPod& pod) {
  if ((gpu.model & pod.models) == 0) return false;
  if (!gpu.slices) return gpu.left >= pod.gpu_milli;
  const std::size_t number = gpu.mig_number;
  if (gpu.left == 0 || number >= pod.profiles.size() || pod.profiles[number] == 0) return false;
  return gpu.slices->open_anywhere(static_cast<std::uint16_t>(pod.profiles[number] - 1));
}

}  // namespace

std::int64_t fragment(const FragmentView& node, std::span<const TypicalPod> typical) {
  std::int64_t idle = 0;
  for (const FragmentView::Gpu& gpu : node.gpus) idle += gpu.left;
  if (idle == 0) return 0;
  std::int64_t sum = 0;
  for (const TypicalPod& pod : typical) {
    std::int64_t fitting = 0;
    std::int64_t small = 0;
    for (const FragmentView::Gpu& gpu : node.gpus) {
      const bool fits = holds(gpu, pod);
      fitting += fits ? 1 : 0;
      small += fits ? 0 : gpu.left;
    }
    const bool hosted = pod.gpus > 0 && fitting >= pod.gpus && pod.cpu_milli <= node.cpu_milli;
    sum += pod.share * (hosted ? small : idle);
  }
  return sum;
}

}  // namespace snug
