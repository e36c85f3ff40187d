#include "snug/plan/preempt.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

#include "plan/after_eviction.hpp"
#include "plan/victim_search.hpp"

namespace snug {
namespace {

class Decision {
 public:
  Decision(const Preemptor& preemptor, const EvictionOffer& offer, FitMemo& memo)
      : preemptor_(preemptor),
        offer_(offer),
        node_(offer.node),
        after_(preemptor, node_, offer.around, memo),
        chosen_(node_.holdings.size()),
        terminating_(node_.holdings.size()) {}

  std::vector<std::string_view> run() {
    // filter reports these reasons as unresolvable too.
    const ReasonCode now = after_.reason_now();
    if (now != ReasonCode::kNone && !reason(now).evictable) return {};
    if (!sort_pods()) return {};
    PodSet gone(node_.holdings.size());
    if (offer_.chosen.empty() && after_.fits(gone)) return {};
    PodSet bound_to_go = chosen_;
    if (chosen_may_live()) bound_to_go.assign(bound_to_go.size(), false);
    gone = either(chosen_, terminating_);
    if (after_.fits(gone)) {
      // kube-scheduler's victims suffice. Add no others, since it considers disruption budgets;
      // only reprieve those that are unnecessary because of terminating pods.
      reprieve(after_, where([&](std::size_t i) { return chosen_[i] && !bound_to_go[i]; }), gone);
    } else {
      gone = either(bound_to_go, terminating_);
      Pods pool = pool_beside(gone, threshold_beside(gone));
      if (!after_.fits(with(gone, pool))) return {};
      gone = search_victims({.node = node_,
                             .after = after_,
                             .gone = std::move(gone),
                             .pool = std::move(pool),
                             .preferred = chosen_});
    }
    after_.begin_last_pass();
    // Terminating pods are victims only if the preemptor needs their GPUs.
    reprieve(after_, where([&](std::size_t i) { return terminating_[i] && !bound_to_go[i]; }),
             gone);
    if (others_come_first() || after_.ran_out()) reprieve_again(bound_to_go, gone);
    return named(gone);
  }

 private:
  using Pods = std::vector<std::size_t>;

  [[nodiscard]] const Holding& pod(std::size_t position) const { return *node_.holdings[position]; }
  [[nodiscard]] auto pods() const {
    return std::views::iota(std::size_t{0}, node_.holdings.size());
  }
  [[nodiscard]] bool may_go(std::size_t position) const {
    return pod(position).rank.priority < preemptor_.claim.rank.priority;
  }

  static PodSet either(const PodSet& a, const PodSet& b) {
    PodSet both = a;
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = a[i] || b[i];
    return both;
  }
  static PodSet with(PodSet set, const Pods& more) {
    for (const std::size_t position : more) set[position] = true;
    return set;
  }

  /// False: one of kube-scheduler's victims is not of lower priority.
  bool sort_pods() {
    for (const std::string_view uid : offer_.chosen) {
      const auto found = std::ranges::find(node_.holdings, uid, &Holding::uid);
      if (found == node_.holdings.end()) {
        unknown_.push_back(uid);
        continue;
      }
      const auto position = static_cast<std::size_t>(found - node_.holdings.begin());
      if (!may_go(position)) return false;
      chosen_[position] = true;
    }
    for (const std::size_t position : pods()) {
      terminating_[position] = pod(position).terminating && may_go(position);
    }
    return true;
  }

  /// Repeats reprieve() until nothing changes. With nominated pods, fits() is not monotone: after
  /// more evictions a nominated pod may fit at once, and must then continue to fit. So a victim
  /// that is necessary among many may be unnecessary among few.
  void reprieve_again(const PodSet& bound_to_go, PodSet& gone) {
    PodSet before;
    do {
      before = gone;
      reprieve(after_, where([&](std::size_t i) { return gone[i] && !bound_to_go[i]; }), gone);
    } while (gone != before);
  }

  /// Whether kube-scheduler certainly chose its victims only for CPU, memory, pod slots or units of
  /// the kubelet. Then other pods may replace them.
  [[nodiscard]] bool chosen_may_live() {
    if (!node_.inventory->host.known || preemptor_.other_constraints || !unknown_.empty() ||
        others_come_first()) {
      return false;
    }
    PodSet gone = chosen_;
    for (const std::size_t position : pods()) {
      if (!chosen_[position]) continue;
      if (pod(position).other_constraints) return false;
      // kube-scheduler chooses no unnecessary victim. If the other victims appear to suffice, it
      // had a reason that is not known here.
      gone[position] = false;
      const bool needless = after_.host_fits(gone) &&
                            (!preemptor_.claim.request.kubelet_assigned() || after_.gpus_fit(gone));
      if (needless) return false;
      gone[position] = true;
    }
    return true;
  }

  /// Whether nominated pods outrank the preemptor: kube-scheduler counts their CPU and memory,
  /// which are not known here.
  [[nodiscard]] bool others_come_first() const {
    const Nominations* nominations = offer_.around.nominations;
    const PodRank& rank = preemptor_.claim.rank;
    return nominations != nullptr && std::ranges::any_of(*nominations, [&](const auto& other) {
             return other->rank.uid != rank.uid && other->rank.before(rank);
           });
  }

  /// The pods that may be evicted besides `gone`.
  [[nodiscard]] Pods pool_beside(const PodSet& gone, std::int32_t highest_priority) const {
    Pods pool;
    for (const std::size_t position : pods()) {
      const Holding& other = pod(position);
      const bool spared =
          !chosen_[position] && std::ranges::binary_search(offer_.spared, other.uid);
      if (!gone[position] && may_go(position) && !spared &&
          other.rank.priority <= highest_priority) {
        pool.push_back(position);
      }
    }
    return pool;
  }

  /// The lowest priority such that evicting all pods up to it suffices, but at least the highest
  /// one of the pods that are evicted in any case: sparing pods below that has no benefit.
  [[nodiscard]] std::int32_t threshold_beside(const PodSet& gone) {
    constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
    constexpr auto kHighest = std::numeric_limits<std::int32_t>::max();
    std::int32_t floor = kLowest;
    for (const std::size_t position : pods()) {
      if (gone[position] && !terminating_[position]) {
        floor = std::max(floor, pod(position).rank.priority);
      }
    }
    std::vector<std::int32_t> levels;
    for (const std::size_t position : pool_beside(gone, kHighest)) {
      levels.push_back(std::max(floor, pod(position).rank.priority));
    }
    std::ranges::sort(levels);
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    const auto enough = std::ranges::partition_point(levels, [&](std::int32_t level) {
      return !after_.fits(with(gone, pool_beside(gone, level)));
    });
    return enough == levels.end() ? kHighest : *enough;
  }

  /// Most important first.
  template <typename Condition>
  [[nodiscard]] Pods where(Condition condition) const {
    Pods some;
    for (const std::size_t position : pods()) {
      if (condition(position)) some.push_back(position);
    }
    std::ranges::sort(some,
                      [&](std::size_t a, std::size_t b) { return more_important(pod(a), pod(b)); });
    return some;
  }

  [[nodiscard]] std::vector<std::string_view> named(const PodSet& gone) const {
    std::vector<std::string_view> uids;
    for (const std::size_t position : where([&](std::size_t i) { return gone[i]; })) {
      uids.emplace_back(pod(position).uid);
    }
    uids.insert(uids.end(), unknown_.begin(), unknown_.end());
    return uids;
  }

  const Preemptor& preemptor_;
  const EvictionOffer& offer_;
  const NodeState& node_;
  AfterEviction after_;
  PodSet chosen_;
  PodSet terminating_;  // of lower priority
  std::vector<std::string_view> unknown_;
};

}  // namespace

std::vector<std::string_view> choose_victims(const Preemptor& preemptor, const EvictionOffer& offer,
                                             FitMemo& memo) {
  return Decision(preemptor, offer, memo).run();
}

}  // namespace snug
