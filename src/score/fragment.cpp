#include "snug/score/fragment.hpp"

#include <limits>

namespace snug {

FragmentView fragment_view(const NodeState& node) {
  constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max() / 2;
  FragmentView view{.cpu_milli = node.inventory->host.known ? node.host_left().cpu_milli : kEnough,
                    .gpus = {}};
  view.gpus.reserve(node.gpus.size());
  for (const GpuState& gpu : node.gpus) {
    view.gpus.push_back({gpu.left, ModelSet{1} << gpu.info->model_number});
  }
  return view;
}

std::int64_t fragment(const FragmentView& node, std::span<const TypicalPod> typical) {
  std::int64_t idle = 0;
  for (const FragmentView::Gpu& gpu : node.gpus) idle += gpu.left;
  if (idle == 0) return 0;
  std::int64_t sum = 0;
  for (const TypicalPod& pod : typical) {
    std::int64_t fitting = 0;
    std::int64_t small = 0;
    for (const FragmentView::Gpu& gpu : node.gpus) {
      const bool fits = gpu.left >= pod.gpu_milli && (gpu.model & pod.models) != 0;
      fitting += fits ? 1 : 0;
      small += fits ? 0 : gpu.left;
    }
    const bool hosted = pod.gpus > 0 && fitting >= pod.gpus && pod.cpu_milli <= node.cpu_milli;
    sum += pod.share * (hosted ? small : idle);
  }
  return sum;
}

}  // namespace snug
