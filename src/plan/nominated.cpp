#include "snug/plan/nominated.hpp"

#include <algorithm>
#include <utility>

#include "snug/fit/usage.hpp"
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

  void place(const Claim& claim, PlacementView placement) {
    HoldingPtr holding = to_holding(node_, claim, placement);
    held_.add(claim.name_space, compute_held(*holding, node_.inventory.get()));
    placed_.push_back(std::move(holding));
  }

  /// Places the pod beside those placed before, without those that go. False: there is no room.
  bool place(const Nomination& pod, Waits waits) {
    std::vector<HoldingPtr> holdings = placed_;
    NamespaceUse held = held_;
    for (const HoldingPtr& holding : node_.holdings) {
      if (goes(*holding, pod, waits)) {
        held.add(holding->name_space, -compute_held(*holding, node_.inventory.get()));
      } else {
        holdings.push_back(holding);
      }
    }
    const NodeStatePtr state = add_up(node_.inventory, std::move(holdings));
    const Claim claim{.name_space = pod.name_space,
                      .rank = pod.rank,
                      .request = pod.request,
                      .profiles = claim_.profiles,
                      .sharing = claim_.sharing};
    const NodeChoice choice = choose_on(*state, claim, {.held = held});
    if (choice.reason != ReasonCode::kNone) return false;
    place(claim, choice.placement);
    return true;
  }

 private:
  const NodeState& node_;
  const Claim& claim_;
  NamespaceUse held_;
  std::vector<HoldingPtr> placed_;
};

NominatedFirst::NominatedFirst(const NodeState& node, const Claim& claim, const Around& around)
    : node_(node), claim_(claim), around_(around) {
  if (around.nominations == nullptr) return;
  Thought thought(node, claim, around.held);
  for (const NominationPtr& pod : *around.nominations) {
    if (pod->rank.uid == claim.rank.uid || !pod->rank.before(claim.rank)) continue;
    for (const Waits waits : {Waits::kForNobody, Waits::kForTerminating, Waits::kForAllAfterIt}) {
      if (!thought.place(*pod, waits)) continue;
      before_.push_back({pod.get(), waits});
      break;
    }
  }
}

bool NominatedFirst::leaves_room(PlacementView placement) const {
  Thought thought(node_, claim_, around_.held);
  thought.place(claim_, placement);
  return std::ranges::all_of(
      before_, [&](const Kept& kept) { return thought.place(*kept.pod, kept.waits); });
}

}  // namespace snug
