// Keeps what nominated pods ask on their node (status.nominatedNodeName): others were evicted for
// them, and whoever comes after them by rank may not take the room before they are back.
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

/// The pods nominated to one node that come before a claim's. Each is to have its GPUs: on the node
/// as it is; where there is no room, as it will be when its terminating pods are gone; where that
/// is not enough (the API server has not shown the evictions yet), without all pods of lower
/// priority. One that could have none even so, beside those that come before it, stands in nobody's
/// way.
///
/// They are placed in thought, tightly and by nobody's score, so that what is kept depends on no
/// claim's profile, where fit() offers them places. For one pod the answers are exact. Several are
/// placed one after another, with a bounded number of trials; where these run out, one more is not
/// kept, or a placement counts as leaving no room (docs/decisions/0017). Not thread-safe; for one
/// decision.
class NominatedFirst {
 public:
  NominatedFirst(const NodeState& node, const Claim& claim, const Around& around);

  /// No nominated pod comes before the claim's: every placement may be taken.
  [[nodiscard]] bool none() const { return kept_.empty(); }
  /// Whether they still can when the claim's pod takes this placement, and wait for nobody for whom
  /// they need not wait without it.
  [[nodiscard]] bool leaves_room(PlacementView placement);
  /// The node with GPUs told apart that are alike today, but not for one that waits for others to
  /// end. Null: there are none. To be used while `state` is there.
  [[nodiscard]] NodeStatePtr told_apart(const NodeState& state) const;
  /// What has been tried for them so far, in the units of FitMemo::work.
  [[nodiscard]] std::int64_t work() const;
  /// What they hold in thought while the claim's pod is not there.
  [[nodiscard]] const std::vector<HoldingPtr>& in_thought() const { return in_thought_; }

 private:
  class Thought;
  /// Whose end a nominated pod may be waiting for; of those that it needs, the fewest.
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
