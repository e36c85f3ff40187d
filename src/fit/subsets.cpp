#include "fit/subsets.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace snug::fit {
namespace {

using GpuSet = std::vector<std::size_t>;

/// The largest number of sets that are scored. Scoring them takes some ten microseconds. Eight GPUs
/// have at most 70 sets of one size.
constexpr std::size_t kMaxGpuSets = 96;

/// Whether there are more than kMaxGpuSets ways to choose `gpu_count` of `fitting_count` GPUs.
bool too_many_gpu_sets(std::size_t fitting_count, std::size_t gpu_count) {
  std::size_t ways = 1;
  for (std::size_t i = 1; i <= gpu_count && ways <= kMaxGpuSets; ++i)
    ways = ways * (fitting_count - gpu_count + i) / i;
  return ways > kMaxGpuSets;
}

/// Lists the first kMaxGpuSets sets in ascending order. If no NVLinks are known, identical GPUs are
/// interchangeable: of adjacent identical GPUs the first ones are used.
class EveryGpuSet {
 public:
  EveryGpuSet(const model::NodeState& node, const FitMemo& memo, const GpuSet& fitting_gpus,
              std::size_t gpu_count)
      : node_(node), memo_(memo), fitting_gpus_(fitting_gpus), gpu_count_(gpu_count) {}

  std::vector<GpuSet> run() {
    add_gpu(0);
    return std::move(gpu_sets_);
  }

 private:
  void add_gpu(std::size_t first) {
    if (gpu_sets_.size() >= kMaxGpuSets) return;
    if (chosen_.size() == gpu_count_) {
      gpu_sets_.push_back(chosen_);
      return;
    }
    for (std::size_t i = first; i + gpu_count_ - chosen_.size() <= fitting_gpus_.size(); ++i) {
      if (i > first && alike(fitting_gpus_[i], fitting_gpus_[i - 1])) continue;
      chosen_.push_back(fitting_gpus_[i]);
      add_gpu(i + 1);
      chosen_.pop_back();
    }
  }

  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return node_.inventory->nvlinks.empty() &&
           memo_.are_interchangeable(node_.gpus[a], node_.gpus[b]);
  }

  const model::NodeState& node_;
  const FitMemo& memo_;
  const GpuSet& fitting_gpus_;
  std::size_t gpu_count_;
  GpuSet chosen_;
  std::vector<GpuSet> gpu_sets_;
};

std::int64_t links_to(const model::NodeState& node, std::size_t gpu, const GpuSet& other_gpus) {
  std::int64_t link_count = 0;
  for (const std::size_t other_gpu : other_gpus) {
    if (other_gpu != gpu) link_count += node.nvlinks_between(gpu, other_gpu);
  }
  return link_count;
}

/// Grows a set from the GPU `seed`. Each step adds the GPU with the most NVLinks to the set; among
/// equals, the one with the fewest links to the remaining GPUs, so that those stay well linked too.
GpuSet grown_from(const model::NodeState& node, std::size_t seed, const GpuSet& fitting_gpus,
                  std::size_t gpu_count) {
  GpuSet gpu_set{seed};
  GpuSet remaining_gpus = fitting_gpus;
  std::erase(remaining_gpus, seed);
  while (gpu_set.size() < gpu_count) {
    const auto best_linked = std::ranges::max_element(remaining_gpus, {}, [&](std::size_t gpu) {
      return std::pair(links_to(node, gpu, gpu_set), -links_to(node, gpu, remaining_gpus));
    });
    gpu_set.push_back(*best_linked);
    remaining_gpus.erase(best_linked);
  }
  std::ranges::sort(gpu_set);
  return gpu_set;
}

}  // namespace

std::vector<GpuSet> subsets(const model::NodeState& node, const FitMemo& memo,
                            const GpuSet& fitting_gpus, std::size_t gpu_count) {
  const bool linked = !node.inventory->nvlinks.empty();
  if (!linked || !too_many_gpu_sets(fitting_gpus.size(), gpu_count))
    return EveryGpuSet(node, memo, fitting_gpus, gpu_count).run();
  std::set<GpuSet> gpu_sets{
      GpuSet(fitting_gpus.begin(), fitting_gpus.begin() + static_cast<std::ptrdiff_t>(gpu_count))};
  for (const std::size_t seed : fitting_gpus)
    gpu_sets.insert(grown_from(node, seed, fitting_gpus, gpu_count));
  return {gpu_sets.begin(), gpu_sets.end()};
}

}  // namespace snug::fit
