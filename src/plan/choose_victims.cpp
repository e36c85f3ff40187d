#include "snug/plan/choose_victims.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

#include "plan/eviction_check.hpp"
#include "plan/victim_search.hpp"

namespace snug::plan {
namespace {

class PreemptionDecision {
 public:
  PreemptionDecision(const Preemptor& preemptor, const EvictionCandidate& candidate,
                     fit::FitMemo& memo)
      : preemptor_(preemptor),
        candidate_(candidate),
        node_(candidate.node),
        check_(preemptor, node_, candidate.context, memo),
        proposed_victims_(node_.holdings.size()),
        terminating_pods_(node_.holdings.size()) {}

  std::vector<std::string_view> run() {
    // Eviction cannot help if the reason is not resolvable. filter also reports such a node as
    // unresolvable.
    const model::ReasonCode present_reason = check_.reason_now();
    if (present_reason != model::ReasonCode::kNone && !model::reason_row(present_reason).resolvable)
      return {};
    if (!classify_pods()) return {};
    PodSet victims(node_.holdings.size());
    if (candidate_.proposed_victims.empty() && check_.fits(victims)) return {};
    PodSet fixed_victims = proposed_victims_;
    if (may_replace_proposed()) fixed_victims.assign(fixed_victims.size(), false);
    victims = united(proposed_victims_, terminating_pods_);
    if (check_.fits(victims)) {
      // kube-scheduler's victims suffice. Snug adds no others, because kube-scheduler has
      // considered disruption budgets. Snug only reprieves the victims that terminating pods make
      // unnecessary.
      reprieve(check_,
               pods_where([&](std::size_t i) { return proposed_victims_[i] && !fixed_victims[i]; }),
               victims);
    } else {
      victims = united(fixed_victims, terminating_pods_);
      Pods pool = evictable_pool(victims, priority_threshold(victims));
      if (!check_.fits(with(victims, pool))) return {};
      victims = search_victims({.node = node_,
                                .after = check_,
                                .evicted = std::move(victims),
                                .pool = std::move(pool),
                                .preferred = proposed_victims_});
    }
    check_.begin_last_pass();
    // Terminating pods are victims only if the preemptor needs their GPUs.
    reprieve(check_,
             pods_where([&](std::size_t i) { return terminating_pods_[i] && !fixed_victims[i]; }),
             victims);
    if (has_outranking_nominations() || check_.budget_exhausted())
      reprieve_again(fixed_victims, victims);
    return uids_of(victims);
  }

 private:
  using Pods = std::vector<std::size_t>;

  [[nodiscard]] const model::Holding& holding_of(std::size_t pod) const {
    return *node_.holdings[pod];
  }
  [[nodiscard]] auto pods() const {
    return std::views::iota(std::size_t{0}, node_.holdings.size());
  }
  [[nodiscard]] bool is_evictable(std::size_t pod) const {
    return holding_of(pod).rank.priority < preemptor_.incoming.rank.priority;
  }

  static PodSet united(const PodSet& a, const PodSet& b) {
    PodSet both = a;
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = a[i] || b[i];
    return both;
  }
  static PodSet with(PodSet victims, const Pods& more) {
    for (const std::size_t pod : more) victims[pod] = true;
    return victims;
  }

  /// Fills proposed_victims_, terminating_pods_ and absent_victims_. Returns false if a victim that
  /// kube-scheduler chose does not have a lower priority than the preemptor.
  bool classify_pods() {
    for (const std::string_view uid : candidate_.proposed_victims) {
      const auto victim_holding = std::ranges::find(node_.holdings, uid, &model::Holding::uid);
      if (victim_holding == node_.holdings.end()) {
        absent_victims_.push_back(uid);
        continue;
      }
      const auto pod = static_cast<std::size_t>(victim_holding - node_.holdings.begin());
      if (!is_evictable(pod)) return false;
      proposed_victims_[pod] = true;
    }
    for (const std::size_t pod : pods()) {
      terminating_pods_[pod] = holding_of(pod).terminating && is_evictable(pod);
    }
    return true;
  }

  /// Repeats reprieve() until it removes no victim. One pass may not suffice if there are nominated
  /// pods, because a victim that is necessary in a large set may be unnecessary in a smaller one:
  /// after many evictions a nominated pod may fit at once, and then the preemptor must leave room
  /// for it. After fewer evictions, the nominated pod waits for other pods to end.
  void reprieve_again(const PodSet& fixed_victims, PodSet& victims) {
    PodSet before;
    do {
      before = victims;
      reprieve(check_, pods_where([&](std::size_t i) { return victims[i] && !fixed_victims[i]; }),
               victims);
    } while (victims != before);
  }

  /// Whether kube-scheduler certainly chose all its victims for CPU, memory, pod slots,
  /// kubelet-assigned units or resources that mirror shares, so that other pods may replace them.
  [[nodiscard]] bool may_replace_proposed() {
    if (!node_.inventory->host.known || preemptor_.has_other_constraints ||
        !absent_victims_.empty()) {
      return false;
    }
    PodSet victims = proposed_victims_;
    for (const std::size_t pod : pods()) {
      if (!proposed_victims_[pod]) continue;
      if (holding_of(pod).has_other_constraints) return false;
      // kube-scheduler chooses no unnecessary victim. If the other victims seem to suffice without
      // this one, kube-scheduler chose it for a reason that Snug does not know.
      victims[pod] = false;
      const bool needless =
          check_.host_fits(victims) &&
          (!preemptor_.incoming.request.is_kubelet_assigned() || check_.gpus_fit(victims));
      if (needless) return false;
      victims[pod] = true;
    }
    return true;
  }

  /// Whether pods that are nominated to the node outrank the preemptor, so that their GPUs are
  /// kept.
  [[nodiscard]] bool has_outranking_nominations() const {
    const model::Nominations* nominations = candidate_.context.nominations;
    const model::PodRank& rank = preemptor_.incoming.rank;
    return nominations != nullptr && std::ranges::any_of(*nominations, [&](const auto& nomination) {
             return nomination->rank.uid != rank.uid && nomination->rank.outranks(rank);
           });
  }

  /// The pods with a priority of at most `highest_priority` that can be evicted in addition to the
  /// pods in `victims`.
  [[nodiscard]] Pods evictable_pool(const PodSet& victims, std::int32_t highest_priority) const {
    Pods pool;
    for (const std::size_t pod : pods()) {
      const model::Holding& holding = holding_of(pod);
      const bool spared = !proposed_victims_[pod] &&
                          std::ranges::binary_search(candidate_.protected_uids, holding.uid);
      if (!victims[pod] && is_evictable(pod) && !spared &&
          holding.rank.priority <= highest_priority) {
        pool.push_back(pod);
      }
    }
    return pool;
  }

  /// The lowest priority P such that it suffices to evict `victims` and all evictable pods of
  /// priority P or lower. P is at least the highest priority in `victims` (without terminating
  /// pods): pods of that priority are evicted in any case, so a lower P has no benefit.
  [[nodiscard]] std::int32_t priority_threshold(const PodSet& victims) {
    constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
    constexpr auto kHighest = std::numeric_limits<std::int32_t>::max();
    std::int32_t floor = kLowest;
    for (const std::size_t pod : pods()) {
      if (victims[pod] && !terminating_pods_[pod]) {
        floor = std::max(floor, holding_of(pod).rank.priority);
      }
    }
    std::vector<std::int32_t> levels;
    for (const std::size_t pod : evictable_pool(victims, kHighest)) {
      levels.push_back(std::max(floor, holding_of(pod).rank.priority));
    }
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    const auto sufficient_level = std::ranges::partition_point(levels, [&](std::int32_t level) {
      return !check_.fits(with(victims, evictable_pool(victims, level)));
    });
    return sufficient_level == levels.end() ? kHighest : *sufficient_level;
  }

  /// The positions of the pods that meet the condition, the most important pod first.
  template <typename Condition>
  [[nodiscard]] Pods pods_where(Condition condition) const {
    Pods matching_pods;
    for (const std::size_t pod : pods()) {
      if (condition(pod)) matching_pods.push_back(pod);
    }
    std::ranges::sort(matching_pods, [&](std::size_t a, std::size_t b) {
      return more_important(holding_of(a), holding_of(b));
    });
    return matching_pods;
  }

  [[nodiscard]] std::vector<std::string_view> uids_of(const PodSet& victims) const {
    std::vector<std::string_view> uids;
    for (const std::size_t pod : pods_where([&](std::size_t i) { return victims[i]; })) {
      uids.emplace_back(holding_of(pod).uid);
    }
    uids.insert(uids.end(), absent_victims_.begin(), absent_victims_.end());
    return uids;
  }

  const Preemptor& preemptor_;
  const EvictionCandidate& candidate_;
  const model::NodeState& node_;
  EvictionCheck check_;
  PodSet proposed_victims_;  // victims that kube-scheduler chose and that are on the node
  PodSet terminating_pods_;  // terminating pods of lower priority
  /// Victims that kube-scheduler chose and that are not on the node.
  std::vector<std::string_view> absent_victims_;
};

}  // namespace

std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                             const EvictionCandidate& candidate,
                                             fit::FitMemo& memo) {
  return PreemptionDecision(preemptor, candidate, memo).run();
}

bool fits_after_evictions(const Preemptor& preemptor, const EvictionCandidate& candidate,
                          fit::FitMemo& memo) {
  const std::vector<model::HoldingPtr>& holdings = candidate.node.holdings;
  PodSet leaving_pods(holdings.size());
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    const model::Holding& holding = *holdings[i];
    leaving_pods[i] =
        holding.rank.priority < preemptor.incoming.rank.priority &&
        (holding.terminating || std::ranges::find(candidate.proposed_victims, holding.uid) !=
                                    candidate.proposed_victims.end());
  }
  return EvictionCheck(preemptor, candidate.node, candidate.context, memo).fits(leaving_pods);
}

}  // namespace snug::plan
