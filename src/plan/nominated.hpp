// Protects what nominated pods need on their node (status.nominatedNodeName): pods were evicted for
// them, and a pod that they outrank may not take the freed GPUs before they are scheduled again.
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

/// The pods nominated to one node that outrank a pod. Each is protected with the fewest others
/// gone: on the node as it is; else without its terminating pods; else, since the API server may
/// not have shown the evictions yet, without all pods of lower priority than the nominated one. A
/// nominated pod that fits not even then, beside those that outrank it, is not protected.
///
/// The protected pods are placed tentatively on a copy of the node, each as tightly as possible, so
/// that the outcome does not depend on any profile. Exact for one nominated pod. Several are placed
/// by backtracking with a bounded number of trials; if these run out, one more pod is not
/// protected, or a placement counts as taking what they need (docs/decisions/0017). Not
/// thread-safe; for one decision.
class NominatedFirst {
 public:
  NominatedFirst(const NodeState& node, const Claim& claim, const Around& around);

  /// No pod is protected: every placement is allowed.
  [[nodiscard]] bool none() const { return kept_.empty(); }
  /// Whether all protected pods fit beside this placement, with no more pods gone than without it.
  [[nodiscard]] bool leaves_room(PlacementView placement);
  /// told_apart() of the GPUs that a protected pod sees without some of their pods. Null: there are
  /// none. Valid while `state` is.
  [[nodiscard]] NodeStatePtr told_apart(const NodeState& state) const;
  /// In the units of FitMemo::work.
  [[nodiscard]] std::int64_t work() const;
  /// What the protected pods hold tentatively, without the claim's pod.
  [[nodiscard]] const std::vector<HoldingPtr>& in_thought() const { return in_thought_; }

 private:
  class Thought;
  /// Which pods must be gone for a nominated pod to fit; the fewest that suffice.
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
  std::vector<Kept> kept_;  // by rank
  std::vector<HoldingPtr> in_thought_;
  std::vector<bool> apart_;  // GPUs by position; empty: none
  int searches_left_;
};

}  // namespace snug
