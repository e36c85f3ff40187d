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
        proposed_(node_.holdings.size()),
        terminating_(node_.holdings.size()) {}

  std::vector<std::string_view> run() {
    // Eviction cannot help if the reason is not resolvable. filter also reports such a node as
    // unresolvable.
    const model::ReasonCode now = check_.reason_now();
    if (now != model::ReasonCode::kNone && !model::reason_row(now).resolvable) return {};
    if (!classify_pods()) return {};
    PodSet gone(node_.holdings.size());
    if (candidate_.proposed_victims.empty() && check_.fits(gone)) return {};
    PodSet bound_to_go = proposed_;
    if (may_replace_proposed()) bound_to_go.assign(bound_to_go.size(), false);
    gone = united(proposed_, terminating_);
    if (check_.fits(gone)) {
      // kube-scheduler's victims suffice. Snug adds no others, because kube-scheduler has
      // considered disruption budgets. Snug only reprieves the victims that terminating pods make
      // unnecessary.
      reprieve(check_, pods_where([&](std::size_t i) { return proposed_[i] && !bound_to_go[i]; }),
               gone);
    } else {
      gone = united(bound_to_go, terminating_);
      Pods pool = evictable_pool(gone, priority_threshold(gone));
      if (!check_.fits(with(gone, pool))) return {};
      gone = search_victims({.node = node_,
                             .after = check_,
                             .evicted = std::move(gone),
                             .pool = std::move(pool),
                             .preferred = proposed_});
    }
    check_.begin_last_pass();
    // Terminating pods are victims only if the preemptor needs their GPUs.
    reprieve(check_, pods_where([&](std::size_t i) { return terminating_[i] && !bound_to_go[i]; }),
             gone);
    if (has_outranking_nominations() || check_.budget_exhausted())
      reprieve_again(bound_to_go, gone);
    return uids_of(gone);
  }

 private:
  using Pods = std::vector<std::size_t>;

  [[nodiscard]] const model::Holding& pod(std::size_t position) const {
    return *node_.holdings[position];
  }
  [[nodiscard]] auto pods() const {
    return std::views::iota(std::size_t{0}, node_.holdings.size());
  }
  [[nodiscard]] bool is_evictable(std::size_t position) const {
    return pod(position).rank.priority < preemptor_.incoming.rank.priority;
  }

  static PodSet united(const PodSet& a, const PodSet& b) {
    PodSet both = a;
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = a[i] || b[i];
    return both;
  }
  static PodSet with(PodSet set, const Pods& more) {
    for (const std::size_t position : more) set[position] = true;
    return set;
  }

  /// Fills proposed_, terminating_ and unknown_. Returns false if a victim that kube-scheduler
  /// chose does not have a lower priority than the preemptor.
  bool classify_pods() {
    for (const std::string_view uid : candidate_.proposed_victims) {
      const auto found = std::ranges::find(node_.holdings, uid, &model::Holding::uid);
      if (found == node_.holdings.end()) {
        unknown_.push_back(uid);
        continue;
      }
      const auto position = static_cast<std::size_t>(found - node_.holdings.begin());
      if (!is_evictable(position)) return false;
      proposed_[position] = true;
    }
    for (const std::size_t position : pods()) {
      terminating_[position] = pod(position).terminating && is_evictable(position);
    }
    return true;
  }

  /// Repeats reprieve() until it removes no victim. One pass may not suffice if there are nominated
  /// pods, because a victim that is necessary in a large set may be unnecessary in a smaller one:
  /// after many evictions a nominated pod may fit at once, and then the preemptor must leave room
  /// for it. After fewer evictions, the nominated pod waits for other pods to end.
  void reprieve_again(const PodSet& bound_to_go, PodSet& gone) {
    PodSet before;
    do {
      before = gone;
      reprieve(check_, pods_where([&](std::size_t i) { return gone[i] && !bound_to_go[i]; }), gone);
    } while (gone != before);
  }

  /// Whether kube-scheduler certainly chose all its victims for CPU, memory, pod slots or
  /// kubelet-assigned units, so that other pods may replace them.
  [[nodiscard]] bool may_replace_proposed() {
    if (!node_.inventory->host.known || preemptor_.has_other_constraints || !unknown_.empty() ||
        has_outranking_nominations()) {
      return false;
    }
    PodSet gone = proposed_;
    for (const std::size_t position : pods()) {
      if (!proposed_[position]) continue;
      if (pod(position).has_other_constraints) return false;
      // kube-scheduler chooses no unnecessary victim. If the other victims seem to suffice without
      // this one, kube-scheduler chose it for a reason that Snug does not know.
      gone[position] = false;
      const bool needless =
          check_.host_fits(gone) &&
          (!preemptor_.incoming.request.is_kubelet_assigned() || check_.gpus_fit(gone));
      if (needless) return false;
      gone[position] = true;
    }
    return true;
  }

  /// Whether pods that are nominated to the node outrank the preemptor. kube-scheduler counts the
  /// CPU and memory of such pods; a Nomination does not state them.
  [[nodiscard]] bool has_outranking_nominations() const {
    const model::Nominations* nominations = candidate_.context.nominations;
    const model::PodRank& rank = preemptor_.incoming.rank;
    return nominations != nullptr && std::ranges::any_of(*nominations, [&](const auto& other) {
             return other->rank.uid != rank.uid && other->rank.outranks(rank);
           });
  }

  /// The pods with a priority of at most `highest_priority` that can be evicted in addition to the
  /// pods in `gone`.
  [[nodiscard]] Pods evictable_pool(const PodSet& gone, std::int32_t highest_priority) const {
    Pods pool;
    for (const std::size_t position : pods()) {
      const model::Holding& other = pod(position);
      const bool spared =
          !proposed_[position] && std::ranges::binary_search(candidate_.protected_uids, other.uid);
      if (!gone[position] && is_evictable(position) && !spared &&
          other.rank.priority <= highest_priority) {
        pool.push_back(position);
      }
    }
    return pool;
  }

  /// The lowest priority P such that it suffices to evict `gone` and all evictable pods of priority
  /// P or lower. P is at least the highest priority in `gone` (without terminating pods): pods of
  /// that priority are evicted in any case, so a lower P has no benefit.
  [[nodiscard]] std::int32_t priority_threshold(const PodSet& gone) {
    constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
    constexpr auto kHighest = std::numeric_limits<std::int32_t>::max();
    std::int32_t floor = kLowest;
    for (const std::size_t position : pods()) {
      if (gone[position] && !terminating_[position]) {
        floor = std::max(floor, pod(position).rank.priority);
      }
    }
    std::vector<std::int32_t> levels;
    for (const std::size_t position : evictable_pool(gone, kHighest)) {
      levels.push_back(std::max(floor, pod(position).rank.priority));
    }
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    const auto enough = std::ranges::partition_point(levels, [&](std::int32_t level) {
      return !check_.fits(with(gone, evictable_pool(gone, level)));
    });
    return enough == levels.end() ? kHighest : *enough;
  }

  /// The positions of the pods that meet the condition, the most important pod first.
  template <typename Condition>
  [[nodiscard]] Pods pods_where(Condition condition) const {
    Pods some;
    for (const std::size_t position : pods()) {
      if (condition(position)) some.push_back(position);
    }
    std::ranges::sort(some,
                      [&](std::size_t a, std::size_t b) { return more_important(pod(a), pod(b)); });
    return some;
  }

  [[nodiscard]] std::vector<std::string_view> uids_of(const PodSet& gone) const {
    std::vector<std::string_view> uids;
    for (const std::size_t position : pods_where([&](std::size_t i) { return gone[i]; })) {
      uids.emplace_back(pod(position).uid);
    }
    uids.insert(uids.end(), unknown_.begin(), unknown_.end());
    return uids;
  }

  const Preemptor& preemptor_;
  const EvictionCandidate& candidate_;
  const model::NodeState& node_;
  EvictionCheck check_;
  PodSet proposed_;     // victims that kube-scheduler chose and that are on the node
  PodSet terminating_;  // terminating pods of lower priority
  std::vector<std::string_view> unknown_;  // victims that kube-scheduler chose, not on the node
};

}  // namespace

std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                             const EvictionCandidate& candidate,
                                             fit::FitMemo& memo) {
  return PreemptionDecision(preemptor, candidate, memo).run();
}

}  // namespace snug::plan
