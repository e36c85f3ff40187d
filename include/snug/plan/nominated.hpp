// Keeps room for nominated pods on their node (status.nominatedNodeName): pods were evicted for
// them, and no pod of lower rank may take that room before they are bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"

namespace snug {

/// The pods nominated to one node that rank before a claim's pod. Room is kept for each: on the
/// node as it is; if it does not fit there, on the node as it will be when its terminating pods are
/// gone; if that is not enough (the API server has not shown the evictions yet), without all pods
/// of lower priority. A pod that fits in none of these, beside those that rank before it, blocks
/// nobody.
///
/// They are placed tentatively, where fit() offers them places, tightly and without scores, so that
/// what is kept does not depend on a claim's profile. For one pod the answers are exact. Several
/// are placed one after another, with a bounded number of trials; when these run out, no room is
/// kept for one more, or a placement counts as leaving no room (docs/decisions/0017). Not
/// thread-safe; for one decision.
class NominatedFirst {
 public:
  NominatedFirst(const NodeState& node, const Claim& claim, const Around& around);

  /// No nominated pod ranks before the claim's pod: every placement may be taken.
  [[nodiscard]] bool none() const { return kept_.empty(); }
  /// Whether all of them still fit when the claim's pod takes this placement, without waiting for
  /// the end of more pods than they wait for anyway.
  [[nodiscard]] bool leaves_room(PlacementView placement);
  /// The node with those GPUs marked as different (told_apart() in plan/apart.hpp) that are
  /// identical now, but differ for a pod that waits for others to end. Null: there are none.
  /// `state` outlives it.
  [[nodiscard]] NodeStatePtr told_apart(const NodeState& state) const;
  /// The work done for them so far, in the units of FitMemo::work.
  [[nodiscard]] std::int64_t work() const;
  /// Their tentative placements while the claim's pod is not placed.
  [[nodiscard]] const std::vector<HoldingPtr>& in_thought() const { return in_thought_; }

 private:
  class Thought;
  /// Which pods must end before a nominated pod fits; the first that is enough.
  enum class Waits : std::uint8_t { kForNobody, kForTerminating, kForAllAfterIt };
  struct Kept {
    const Nomination* pod = nullptr;
    Waits waits = Waits::kForNobody;
    std::int64_t size = 0;    // in the units of DeviceTake::room
    FitMemo* memo = nullptr;  // of the pod's request; in memos_
  };

  [[nodiscard]] static bool goes(const Holding& holding, const Nomination& pod, Waits waits);
  void keep(const Nomination& pod, Thought& thought);
  [[nodiscard]] std::vector<bool> apart() const;

  const NodeState& node_;
  const Claim& claim_;
  Around around_;
  std::vector<std::unique_ptr<FitMemo>> memos_;
  std::vector<Kept> kept_;  // the first by rank first
  std::vector<HoldingPtr> in_thought_;
  std::vector<bool> apart_;  // GPUs by position; empty: none
  int searches_left_;
};

}  // namespace snug
