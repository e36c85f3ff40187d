#include "fit/several_containers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "fit/constraints.hpp"
#include "fit/cover.hpp"
#include "fit/offers.hpp"
#include "fit/several_memo.hpp"
#include "snug/base/limits.hpp"

namespace snug::fit {
namespace {

using Aim = CoverSearch::Aim;

/// The most placements that the first search in collect() adds. Scoring them takes little time, and
/// most pods have fewer placements.
constexpr std::size_t kMostPlacements = 64;
/// The most placements that the second search in collect() adds. This search spreads the pod over
/// many GPUs. It runs only if the first search did not find all placements.
constexpr std::size_t kMostSpreadPlacements = 32;
/// The limit of steps for each search for the reason of a refusal. Such a search applies only some
/// of the constraints, and most find a cover at once.
constexpr std::int64_t kMostReasonSteps = 1'000;
/// The limit of steps for each of the two searches in collect(). They need not find a cover,
/// because possible() has already found one.
constexpr std::int64_t kMostCollectSteps = 1'000;

/// The value of GpuClass::weigh_at for all GPUs of the node: the capacity of the largest one.
base::MebiBytes weigh_at(const model::NodeState& node) {
  base::MebiBytes largest;
  for (const model::GpuState& gpu : node.gpus) {
    if (gpu.closure != model::GpuClosure::kVanished) largest = std::max(largest, gpu.memory);
  }
  return largest.value > 0 ? largest : base::MebiBytes{base::kLargestQuantity};
}

class SeveralContainers {
 public:
  SeveralContainers(const model::NodeState& node, const Tenant& tenant, FitMemo& memo)
      : node_(node),
        tenant_(tenant),
        memo_(memo),
        cache_(memo.multi_container()),
        node_view_{node, tenant, isolated_gpus(node, tenant)},
        weigh_at_(weigh_at(node)) {
    cache_.trim();
    for (const model::GpuState& gpu : node.gpus) takers_.push_back(takers_of(gpu));
  }

  bool possible() { return possible_under(constraints().size()); }

  /// The reason of the first constraint under which there is no cover. Requires that possible()
  /// returned false.
  Answer refusal() {
    std::size_t refusing = constraints().size();
    bool gave_up = last_result_->ran_out;
    for (std::size_t i = constraints().size(); i-- > 0;) {
      const Constraint& constraint = constraints()[i];
      if (constraint.applies != nullptr && !constraint.applies(node_view_)) continue;
      if (refusing != constraints().size()) {
        if (possible_under(i + 1)) break;
        gave_up = last_result_->ran_out;
      }
      refusing = i;
    }
    return {gave_up ? model::ReasonCode::kNoRoom : constraints()[refusing].reason, gave_up};
  }

  /// Adds the placements among which score terms choose, at least one. Requires that possible()
  /// returned true.
  void collect(model::PlacementList& placements) {
    Offers offers(node_, cache_.book, placements);
    std::vector<Bin> bins = bins_under(constraints().size());
    std::ranges::sort(bins, {}, [&](const Bin& bin) {
      return std::tuple(node_.gpus[bin.gpu].free_milli_sum, first_like(bin.gpu), bin.gpu);
    });
    mark_likes(bins);
    const bool search_complete = search_covers(Aim::kFull, bins, tenant_.cap_remaining,
                                               kMostCollectSteps, [&](const Cover& cover) {
                                                 offers.add(bins, cover);
                                                 return placements.size() < kMostPlacements;
                                               });
    if (search_complete) return;
    std::vector<Bin> emptiest_first = bins;
    std::ranges::reverse(emptiest_first);
    mark_likes(emptiest_first);
    std::size_t spread = 0;
    (void)search_covers(Aim::kSpread, emptiest_first, tenant_.cap_remaining, kMostCollectSteps,
                        [&](const Cover& cover) {
                          offers.add_new(emptiest_first, cover);
                          return ++spread < kMostSpreadPlacements;
                        });
    if (placements.empty()) offers.add(bins, known_cover(bins));
  }

 private:
  /// Whether there is a cover under the first `constraint_count` constraints. The bins are tried in
  /// an order that depends only on their classes. So all nodes with GPUs of the same classes get
  /// the same answer, whichever node is judged first.
  bool possible_under(std::size_t constraint_count) {
    std::vector<Bin> bins = bins_under(constraint_count);
    std::ranges::sort(bins, {},
                      [](const Bin& bin) { return std::pair(bin.patterns->gpu_class(), bin.gpu); });
    const std::int64_t cap = include_cap(constraint_count) ? tenant_.cap_remaining : kNoCap;
    MultiContainerCache::Question question{
        .gpu_classes = {},
        .cap_left = cap,
        .all_constraints = constraint_count == constraints().size()};
    for (const Bin& bin : bins) question.gpu_classes.push_back(bin.patterns->number());
    std::ranges::sort(question.gpu_classes);
    last_result_ = cache_.find(question);
    if (last_result_ != nullptr) return last_result_->possible;
    const std::int64_t step_limit =
        question.all_constraints ? base::kMaxFitSteps : kMostReasonSteps;
    MultiContainerCache::CachedResult search_result;
    const bool search_complete =
        search_covers(Aim::kAny, bins, cap, step_limit, [&](const Cover& cover) {
          search_result.possible = true;
          for (std::size_t i = 0; i < bins.size(); ++i) {
            search_result.cover.emplace_back(bins[i].patterns->number(), cover[i]);
          }
          return false;
        });
    search_result.ran_out = !search_result.possible && !search_complete;
    last_result_ = cache_.remember(std::move(question), std::move(search_result));
    return last_result_->possible;
  }

  /// Calls `on_cover` for covers until `on_cover` returns false. Returns whether the search was
  /// complete: neither `on_cover` nor the limit of steps ended it.
  template <typename OnCover>
  bool search_covers(Aim aim, const std::vector<Bin>& bins, std::int64_t cap_left,
                     std::int64_t most_steps, OnCover on_cover) {
    std::int64_t steps = most_steps;
    CoverSearch search(cache_.book, bins, cap_left, steps);
    bool stopped = false;
    search.run(aim, [&](const Cover& cover) {
      stopped = !on_cover(cover);
      return !stopped;
    });
    memo_.count_steps(most_steps - steps);
    return !stopped && !search.ran_out();
  }

  /// The cover that possible() found, perhaps on another node with GPUs of the same classes.
  [[nodiscard]] Cover known_cover(const std::vector<Bin>& bins) const {
    auto unmatched = last_result_->cover;
    Cover cover;
    for (const Bin& bin : bins) {
      const auto same_class =
          std::ranges::find(unmatched, bin.patterns->number(),
                            [](const auto& class_and_set) { return class_and_set.first; });
      cover.push_back(same_class->second);
      unmatched.erase(same_class);
    }
    return cover;
  }

  /// The GPUs that can serve at least one container of the request under the first
  /// `constraint_count` constraints, in ascending order.
  std::vector<Bin> bins_under(std::size_t constraint_count) {
    const std::int64_t steps_before = cache_.book.steps();
    std::vector<Bin> bins;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      GpuView gpu_view(node_view_, gpu);
      gpu_view.takers = takers_[gpu];
      GpuClass gpu_class{.offered = allocatable(gpu_view, constraint_count), .weigh_at = weigh_at_};
      gpu_class.offered.allowed &= all_containers();
      if (gpu_class.offered.allowed == 0) continue;
      const Patterns& patterns = cache_.book.of(gpu_class);
      if (patterns.served() != 0) bins.push_back({.patterns = &patterns, .gpu = gpu});
    }
    memo_.count_steps(cache_.book.steps() - steps_before);
    return bins;
  }

  [[nodiscard]] ContainerSet all_containers() const {
    return (ContainerSet{1} << cache_.book.containers()) - 1;
  }

  /// The containers that accept this GPU's model. For a vanished GPU, whose model is unknown, these
  /// are all containers.
  ContainerSet takers_of(const model::GpuState& gpu) {
    if (gpu.closure == model::GpuClosure::kVanished) return all_containers();
    const ContainerBits by_position = memo_.containers_taking(*gpu.info);
    ContainerSet takers = 0;
    for (std::size_t turn = 0; turn < cache_.book.containers(); ++turn) {
      const std::size_t position = cache_.book.position(turn);
      if ((by_position >> position & 1) != 0) takers |= ContainerSet{1} << turn;
    }
    return takers;
  }

  void mark_likes(std::vector<Bin>& bins) const {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      bins[i].is_like_previous = i > 0 && first_like(bins[i].gpu) == first_like(bins[i - 1].gpu);
    }
  }

  /// The first GPU of the node that has the same scores as this GPU. If the node has NVLinks, the
  /// result is this GPU itself.
  [[nodiscard]] std::size_t first_like(std::size_t gpu) const {
    if (!node_.inventory->nvlinks.empty()) return gpu;
    std::size_t first = 0;
    while (!alike(first, gpu)) ++first;
    return first;
  }
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return memo_.are_interchangeable(node_.gpus[a], node_.gpus[b]) &&
           (node_view_.isolated.empty() || node_view_.isolated[a] == node_view_.isolated[b]);
  }

  const model::NodeState& node_;
  const Tenant& tenant_;
  FitMemo& memo_;
  MultiContainerCache& cache_;
  NodeView node_view_;
  base::MebiBytes weigh_at_;
  std::vector<ContainerSet> takers_;  // takers_of() for each GPU
  /// The result of the last possible_under().
  const MultiContainerCache::CachedResult* last_result_ = nullptr;
};

}  // namespace

bool can_fit_several_containers(const model::NodeState& node, const Tenant& tenant, FitMemo& memo) {
  return SeveralContainers(node, tenant, memo).possible();
}

Answer fit_several_containers(const model::NodeState& node, const Tenant& tenant, FitMemo& memo,
                              model::PlacementList& placements) {
  SeveralContainers containers(node, tenant, memo);
  if (!containers.possible()) return containers.refusal();
  containers.collect(placements);
  return {};
}

}  // namespace snug::fit
