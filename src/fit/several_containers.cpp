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
constexpr std::size_t kMostOptions = 64;
/// The most placements that the second search in collect() adds. This search spreads the pod over
/// many GPUs. It runs only if the first search did not find all placements.
constexpr std::size_t kMostSpreadOptions = 32;
/// The limit of steps for each search for the reason of a refusal. Such a search applies only some
/// of the constraints, and most find a cover at once.
constexpr std::int64_t kMostReasonSteps = 1'000;
/// The limit of steps for each of the two searches in collect(). They need not find a cover,
/// because possible() has already found one.
constexpr std::int64_t kMostOptionSteps = 1'000;

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
        several_(memo.multi_container()),
        view_{node, tenant, isolated_gpus(node, tenant)},
        weigh_at_(weigh_at(node)) {
    several_.trim();
    for (const model::GpuState& gpu : node.gpus) takers_.push_back(takers_of(gpu));
  }

  bool possible() { return possible_under(constraints().size()); }

  /// The reason of the first constraint under which there is no cover. Requires that possible()
  /// returned false.
  Answer refusal() {
    std::size_t refusing = constraints().size();
    bool gave_up = known_->ran_out;
    for (std::size_t i = constraints().size(); i-- > 0;) {
      const Constraint& constraint = constraints()[i];
      if (constraint.applies != nullptr && !constraint.applies(view_)) continue;
      if (refusing != constraints().size()) {
        if (possible_under(i + 1)) break;
        gave_up = known_->ran_out;
      }
      refusing = i;
    }
    return {gave_up ? model::ReasonCode::kNoRoom : constraints()[refusing].reason, gave_up};
  }

  /// Adds the placements among which score terms choose, at least one. Requires that possible()
  /// returned true.
  void collect(model::PlacementList& options) {
    Offers offers(node_, several_.book, options);
    std::vector<Bin> bins = bins_under(constraints().size());
    std::ranges::sort(bins, {}, [&](const Bin& bin) {
      return std::tuple(node_.gpus[bin.gpu].free_milli_sum, first_like(bin.gpu), bin.gpu);
    });
    mark_likes(bins);
    const bool all =
        run(Aim::kFull, bins, tenant_.cap_remaining, kMostOptionSteps, [&](const Cover& cover) {
          offers.add(bins, cover);
          return options.size() < kMostOptions;
        });
    if (all) return;
    std::vector<Bin> emptiest_first = bins;
    std::ranges::reverse(emptiest_first);
    mark_likes(emptiest_first);
    std::size_t spread = 0;
    (void)run(Aim::kSpread, emptiest_first, tenant_.cap_remaining, kMostOptionSteps,
              [&](const Cover& cover) {
                offers.add_new(emptiest_first, cover);
                return ++spread < kMostSpreadOptions;
              });
    if (options.empty()) offers.add(bins, known_cover(bins));
  }

 private:
  /// Whether there is a cover under the first `count` constraints. The bins are tried in an order
  /// that depends only on their classes. So all nodes with GPUs of the same classes get the same
  /// answer, whichever node is judged first.
  bool possible_under(std::size_t count) {
    std::vector<Bin> bins = bins_under(count);
    std::ranges::sort(bins, {},
                      [](const Bin& bin) { return std::pair(bin.patterns->gpu_class(), bin.gpu); });
    const std::int64_t cap = include_cap(count) ? tenant_.cap_remaining : kNoCap;
    MultiContainerCache::Question question{
        .gpu_classes = {}, .cap_left = cap, .all_constraints = count == constraints().size()};
    for (const Bin& bin : bins) question.gpu_classes.push_back(bin.patterns->number());
    std::ranges::sort(question.gpu_classes);
    known_ = several_.find(question);
    if (known_ != nullptr) return known_->possible;
    const std::int64_t most = question.all_constraints ? base::kMaxFitSteps : kMostReasonSteps;
    MultiContainerCache::Known known;
    const bool all = run(Aim::kAny, bins, cap, most, [&](const Cover& cover) {
      known.possible = true;
      for (std::size_t i = 0; i < bins.size(); ++i) {
        known.cover.emplace_back(bins[i].patterns->number(), cover[i]);
      }
      return false;
    });
    known.ran_out = !known.possible && !all;
    known_ = several_.remember(std::move(question), std::move(known));
    return known_->possible;
  }

  /// Calls `found` for covers until `found` returns false. Returns whether the search was complete:
  /// neither `found` nor the limit of steps ended it.
  template <typename Found>
  bool run(Aim aim, const std::vector<Bin>& bins, std::int64_t cap_left, std::int64_t most_steps,
           Found found) {
    std::int64_t steps = most_steps;
    CoverSearch search(several_.book, bins, cap_left, steps);
    bool stopped = false;
    search.run(aim, [&](const Cover& cover) {
      stopped = !found(cover);
      return !stopped;
    });
    memo_.count_steps(most_steps - steps);
    return !stopped && !search.ran_out();
  }

  /// The cover that possible() found, perhaps on another node with GPUs of the same classes.
  [[nodiscard]] Cover known_cover(const std::vector<Bin>& bins) const {
    auto left = known_->cover;
    Cover cover;
    for (const Bin& bin : bins) {
      const auto of_kind = std::ranges::find(left, bin.patterns->number(),
                                             [](const auto& served) { return served.first; });
      cover.push_back(of_kind->second);
      left.erase(of_kind);
    }
    return cover;
  }

  /// The GPUs that can serve at least one container of the request under the first `count`
  /// constraints, in ascending order.
  std::vector<Bin> bins_under(std::size_t count) {
    const std::int64_t before = several_.book.steps();
    std::vector<Bin> bins;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      GpuView view(view_, gpu);
      view.takers = takers_[gpu];
      GpuClass kind{.offered = allocatable(view, count), .weigh_at = weigh_at_};
      kind.offered.allowed &= everybody();
      if (kind.offered.allowed == 0) continue;
      const Patterns& patterns = several_.book.of(kind);
      if (patterns.served() != 0) bins.push_back({.patterns = &patterns, .gpu = gpu});
    }
    memo_.count_steps(several_.book.steps() - before);
    return bins;
  }

  [[nodiscard]] ContainerSet everybody() const {
    return (ContainerSet{1} << several_.book.containers()) - 1;
  }

  /// The containers that accept this GPU's model. For a vanished GPU, whose model is unknown, these
  /// are all containers.
  ContainerSet takers_of(const model::GpuState& gpu) {
    if (gpu.closure == model::GpuClosure::kVanished) return everybody();
    const ContainerBits by_position = memo_.containers_taking(*gpu.info);
    ContainerSet set = 0;
    for (std::size_t turn = 0; turn < several_.book.containers(); ++turn) {
      const std::size_t position = several_.book.position(turn);
      if ((by_position >> position & 1) != 0) set |= ContainerSet{1} << turn;
    }
    return set;
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
    return node_.gpus[a].is_interchangeable_with(node_.gpus[b]) &&
           (view_.isolated.empty() || view_.isolated[a] == view_.isolated[b]);
  }

  const model::NodeState& node_;
  const Tenant& tenant_;
  FitMemo& memo_;
  MultiContainerCache& several_;
  NodeView view_;
  base::MebiBytes weigh_at_;
  std::vector<ContainerSet> takers_;                   // by GPU position: takers_of()
  const MultiContainerCache::Known* known_ = nullptr;  // the result of the last possible_under()
};

}  // namespace

bool can_fit_several_containers(const model::NodeState& node, const Tenant& tenant, FitMemo& memo) {
  return SeveralContainers(node, tenant, memo).possible();
}

Answer fit_several_containers(const model::NodeState& node, const Tenant& tenant, FitMemo& memo,
                              model::PlacementList& options) {
  SeveralContainers containers(node, tenant, memo);
  if (!containers.possible()) return containers.refusal();
  containers.collect(options);
  return {};
}

}  // namespace snug::fit
