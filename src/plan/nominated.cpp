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

/// The node and the pods that will be on it: those that hold something now, and those that are
/// placed in thought.
class NominatedFirst::Thought {
 public:
  Thought(const NodeState& node, const Claim& claim, const NamespaceUse& held)
      : node_(node), claim_(claim), held_(held) {}

  [[nodiscard]] const std::vector<HoldingPtr>& placed() const { return placed_; }

  /// Another thought about the same node.
  void become(Thought&& other) {
    held_ = std::move(other.held_);
    placed_ = std::move(other.placed_);
  }

  void place(const Claim& claim, PlacementView placement) {
    placed_.push_back(to_holding(node_, claim, placement));
    held_.add(claim.name_space, compute_of(*placed_.back()));
  }

  /// Whether the pod has room beside those placed, without those that go; then, the size of what it
  /// would take.
  [[nodiscard]] std::optional<std::int64_t> room_for(const Kept& pod) const {
    const Ways ways(*this, pod);
    if (ways.order.empty()) return std::nullopt;
    return size_of(ways.options[ways.order.front()]);
  }

  /// Places the pod as tightly as it goes, after room_for().
  void place_tightly(const Kept& pod) {
    const Ways ways(*this, pod);
    place(claim_of(*pod.pod), ways.options[ways.order.front()]);
  }

  /// Places them all, one after another. False: that came to nothing within so many trials, and
  /// nothing is placed.
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
    std::vector<std::size_t> order;  // positions in `options`, the tightest first
  };

  /// Who sees most of the others first: what fits in its place then does so for all who come later.
  /// Of equals, who takes any mode joins a GPU that is open, and the small fill what the large
  /// leave.
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

  /// `first`: so far each pod is where it is placed first. That costs no trials; beyond it a pod
  /// that is hard to place counts for as many as take that long.
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

  /// Nobody looks at its profiles.
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
  GpuMarks apart_;  // those that no other is like
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

/// Those with a pod on them that goes before one of the nominated comes: it sees a GPU that for
/// others, who come earlier, is like its neighbour.
GpuMarks NominatedFirst::apart() const {
  GpuMarks marks;
  for (const HoldingPtr& holding : node_.holdings) {
    const bool one_goes = std::ranges::any_of(
        kept_, [&](const Kept& kept) { return goes(*holding, *kept.pod, kept.waits); });
    if (one_goes) mark_gpus(node_, *holding, marks);
  }
  return marks;
}

/// Who comes first by rank is kept first; but before one more is left out, all are placed anew: the
/// tightest place for one alone need not be the best for all.
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
  // Mostly the tightest place for each will do.
  if (thought.place_all(kept_, apart_, 0)) return true;
  // One that has none on its own has none with the others, and that is soon found out.
  const bool each = std::ranges::all_of(
      kept_, [&](const Kept& kept) { return thought.room_for(kept).has_value(); });
  return each && kept_.size() > 1 && thought.place_all(kept_, apart_);
}

}  // namespace snug
