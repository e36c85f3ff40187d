#include "snug/plan/nominated.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "plan/tightness.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/apart.hpp"
#include "snug/plan/plan.hpp"

namespace snug {

bool NominatedFirst::goes(const Holding& holding, const Nomination& pod, Waits waits) {
  if (waits == Waits::kForNobody) return false;
  if (holding.terminating) return true;
  return waits == Waits::kForAllAfterIt && holding.rank.priority < pod.rank.priority;
}

/// The node with its holdings and the pods that are placed tentatively.
class NominatedFirst::Thought {
 public:
  Thought(const NodeState& node, const Claim& claim, const NamespaceUse& held)
      : node_(node), claim_(claim), held_(held) {}

  [[nodiscard]] const std::vector<HoldingPtr>& placed() const { return placed_; }

  /// `other` must belong to the same node.
  void become(Thought&& other) {
    held_ = std::move(other.held_);
    placed_ = std::move(other.placed_);
  }

  void place(const Claim& claim, PlacementView placement) {
    placed_.push_back(to_holding(node_, claim, placement));
    held_.add(claim.name_space, compute_of(*placed_.back()));
  }

  /// The size of the pod's tightest placement besides the placed pods; nullopt: it does not fit.
  [[nodiscard]] std::optional<std::int64_t> room_for(const Kept& pod) const {
    const Ways ways(*this, pod);
    if (ways.order.empty()) return std::nullopt;
    return size_of(ways.options[ways.order.front()]);
  }

  /// Precondition: room_for() found a placement.
  void place_tightly(const Kept& pod) {
    const Ways ways(*this, pod);
    place(claim_of(*pod.pod), ways.options[ways.order.front()]);
  }

  /// Places all pods by backtracking. False: `trials` did not suffice, and no pod is placed.
  bool place_all(const std::vector<Kept>& pods, const GpuMarks& apart,
                 int trials = kMostPlacingTrials) {
    apart_ = apart;
    return place_rest(in_turn(pods), trials);
  }

 private:
  struct Ways {
    Ways(const Thought& thought, const Kept& pod) {
      const NodeState& node = thought.node_;
      std::vector<HoldingPtr> holdings = thought.placed_;
      NamespaceUse held = thought.held_;
      for (const HoldingPtr& holding : node.holdings) {
        if (goes(*holding, *pod.pod, pod.waits)) {
          held.add(holding->name_space, -thought.compute_of(*holding));
        } else {
          holdings.push_back(holding);
        }
      }
      const NodeStatePtr state = with_holdings(node, std::move(holdings));
      const NodeStatePtr told =
          thought.apart_.empty() ? state : snug::told_apart(*state, thought.apart_);
      const Tenant tenant = tenant_of(pod.pod->name_space, thought.claim_.sharing, held);
      if (fit(*told, tenant, *pod.memo, options) != ReasonCode::kNone) return;
      order = by_tightness(*told, options);
    }

    PlacementList options;
    std::vector<std::size_t> order;  // positions in `options`, the tightest placement first
  };

  /// The order of placing. Pods for which the fewest other pods must end come first: the GPUs that
  /// are free for them are also free for later pods. Then pods that request a mode, so that others
  /// can join the GPUs that they open. Then large pods, so that small ones fill the gaps.
  static std::vector<Kept> in_turn(const std::vector<Kept>& pods) {
    const auto sees_less = [](const Kept& kept) {
      return kept.waits == Waits::kForAllAfterIt ? kept.pod->rank.priority : 0;
    };
    const auto any_mode = [](const Kept& kept) {
      return std::ranges::all_of(kept.pod->request.containers, [](const ContainerRequest& asked) {
        return asked.isolation == Isolation::kAny;
      });
    };
    std::vector<std::tuple<Waits, std::int32_t, bool, std::int64_t, std::size_t>> keyed;
    keyed.reserve(pods.size());
    for (std::size_t i = 0; i < pods.size(); ++i) {
      keyed.emplace_back(pods[i].waits, sees_less(pods[i]), any_mode(pods[i]), -pods[i].size, i);
    }
    std::ranges::sort(keyed);
    std::vector<Kept> turns;
    turns.reserve(pods.size());
    for (const auto& key : keyed) turns.push_back(pods[std::get<std::size_t>(key)]);
    return turns;
  }

  /// `first`: all pods so far have their tightest placement, which costs no trials. Another
  /// placement costs as many trials as the work of fit().
  bool place_rest(std::span<const Kept> pods, int& trials, bool first = true) {
    if (pods.empty()) return true;
    if (!first && trials <= 0) return false;
    const std::int64_t before = pods.front().memo->work();
    const Ways ways(*this, pods.front());
    if (!first) trials -= static_cast<int>(pods.front().memo->work() - before);
    for (const std::size_t way : ways.order) {
      place(claim_of(*pods.front().pod), ways.options[way]);
      if (place_rest(pods.subspan(1), trials, first && way == ways.order.front())) return true;
      take_back();
      if (trials <= 0) return false;
    }
    return false;
  }

  void take_back() {
    held_.add(placed_.back()->name_space, -compute_of(*placed_.back()));
    placed_.pop_back();
  }

  /// The profiles of the result are not used.
  [[nodiscard]] Claim claim_of(const Nomination& pod) const {
    return {.name_space = pod.name_space,
            .rank = pod.rank,
            .request = pod.request,
            .profiles = claim_.profiles,
            .sharing = claim_.sharing};
  }

  [[nodiscard]] MilliGpu compute_of(const Holding& holding) const {
    return compute_held(holding, node_.inventory.get());
  }

  const NodeState& node_;
  const Claim& claim_;
  NamespaceUse held_;
  std::vector<HoldingPtr> placed_;
  GpuMarks apart_;  // GPUs to mark as different
};

NominatedFirst::NominatedFirst(const NodeState& node, const Claim& claim, const Around& around)
    : node_(node), claim_(claim), around_(around), searches_left_(kMostPlacingSearches) {
  if (around.nominations == nullptr) return;
  Thought thought(node, claim, around.held);
  std::size_t pods = 0;
  for (const NominationPtr& pod : *around.nominations) {
    if (pod->rank.uid == claim.rank.uid || !pod->rank.before(claim.rank)) continue;
    if (++pods > kMostNominatedOnNode || work() > kMostWorkBesideNominated) break;
    keep(*pod, thought);
  }
  in_thought_ = thought.placed();
  apart_ = apart();
}

/// The GPUs with a pod that must end for a nominated pod: they may be identical to others now, but
/// not for the nominated pod.
GpuMarks NominatedFirst::apart() const {
  GpuMarks marks;
  for (const HoldingPtr& holding : node_.holdings) {
    const bool one_goes = std::ranges::any_of(
        kept_, [&](const Kept& kept) { return goes(*holding, *kept.pod, kept.waits); });
    if (one_goes) mark_gpus(node_, *holding, marks);
  }
  return marks;
}

/// Called in the order of ranks. If the pod does not fit besides the tightest placements of those
/// before it, tries to place all of them again by backtracking.
void NominatedFirst::keep(const Nomination& pod, Thought& thought) {
  memos_.push_back(std::make_unique<FitMemo>(pod.request));
  Kept kept{.pod = &pod, .memo = memos_.back().get()};
  for (const Waits waits : {Waits::kForNobody, Waits::kForTerminating, Waits::kForAllAfterIt}) {
    kept.waits = waits;
    if (const auto size = thought.room_for(kept)) {
      thought.place_tightly(kept);
      kept.size = *size;
      kept_.push_back(kept);
      return;
    }
    if (kept_.empty() || searches_left_ == 0) continue;
    Thought anew(node_, claim_, around_.held);
    const auto size = anew.room_for(kept);
    if (!size) continue;
    --searches_left_;
    kept.size = *size;
    kept_.push_back(kept);
    if (anew.place_all(kept_, apart())) return thought.become(std::move(anew));
    kept_.pop_back();
  }
}

NodeStatePtr NominatedFirst::told_apart(const NodeState& state) const {
  return apart_.empty() ? nullptr : snug::told_apart(state, apart_);
}

std::int64_t NominatedFirst::work() const {
  std::int64_t work = 0;
  for (const auto& memo : memos_) work += memo->work();
  return work;
}

bool NominatedFirst::leaves_room(PlacementView placement) {
  Thought thought(node_, claim_, around_.held);
  thought.place(claim_, placement);
  // The tightest placement of each usually suffices.
  if (thought.place_all(kept_, apart_, 0)) return true;
  // A cheap necessary condition: each fits alone.
  const bool each = std::ranges::all_of(
      kept_, [&](const Kept& kept) { return thought.room_for(kept).has_value(); });
  return each && kept_.size() > 1 && thought.place_all(kept_, apart_);
}

}  // namespace snug
