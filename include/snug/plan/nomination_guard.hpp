// Reserves capacity for nominated pods on their node (status.nominatedNodeName): pods were evicted
// for them, and no pod of lower rank may take the freed capacity before they are bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::plan {

/// The pods nominated to one node that rank before a claim's pod. Capacity is reserved for each of
/// them in the first of these states in which it fits together with those that rank before it: the
/// node as it is; the node without its terminating pods; the node without all pods of lower
/// priority (the API server has not shown the evictions yet). A pod that fits in none of them
/// blocks no other pod.
///
/// The pods are placed tentatively: at placements of fit(), the tightest first, without scores, so
/// that the result does not depend on a claim's profile. The result is exact for one pod. Several
/// pods are placed with a limited number of trials; beyond it, no capacity is reserved for the next
/// pod, or a placement counts as leaving too little free (docs/decisions/0017). Not thread-safe;
/// for one decision.
class NominationGuard {
 public:
  NominationGuard(const model::NodeState& node, const IncomingPod& incoming,
                  const NodeContext& context);

  /// True: no capacity is reserved, and the claim's pod may take any placement.
  [[nodiscard]] bool empty() const { return protected_.empty(); }
  /// Whether all of them fit after the claim's pod takes this placement, without more pods having
  /// to end for them than before.
  [[nodiscard]] bool admits(model::PlacementView placement);
  /// A copy of the state that marks the GPUs which are identical now but differ for a nominated pod
  /// that waits for other pods to end (told_apart() in plan/gpu_marks.hpp). Null: there are none.
  /// `state` must outlive the copy.
  [[nodiscard]] model::NodeStatePtr with_distinct_gpus(const model::NodeState& state) const;
  /// The work done so far, in the units of FitMemo::work.
  [[nodiscard]] std::int64_t work() const;
  /// Their tentative placements before the claim's pod is placed.
  [[nodiscard]] const std::vector<model::HoldingPtr>& tentative_holdings() const {
    return tentative_holdings_;
  }

 private:
  class TentativeNode;
  /// Which pods must end before a nominated pod fits: the first that suffices.
  enum class WaitsFor : std::uint8_t { kNobody, kTerminating, kAllLowerPriority };
  struct ProtectedPod {
    const model::Nomination* pod = nullptr;
    WaitsFor waits_for = WaitsFor::kNobody;
    std::int64_t size = 0;         // in the units of DeviceAllocation::milli_sum
    fit::FitMemo* memo = nullptr;  // of the pod's request; in memos_
  };

  [[nodiscard]] static bool is_gone(const model::Holding& holding, const model::Nomination& pod,
                                    WaitsFor waits);
  void protect(const model::Nomination& pod, TentativeNode& tentative);
  [[nodiscard]] std::vector<bool> gpus_to_distinguish() const;

  const model::NodeState& node_;
  const IncomingPod& incoming_;
  NodeContext context_;
  std::vector<std::unique_ptr<fit::FitMemo>> memos_;
  std::vector<ProtectedPod> protected_;  // the first by rank first
  std::vector<model::HoldingPtr> tentative_holdings_;
  std::vector<bool> distinct_gpus_;  // GPUs by position; empty: none
  int remaining_searches_;
};

}  // namespace snug::plan
