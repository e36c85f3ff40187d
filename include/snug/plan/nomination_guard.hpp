// Keeps capacity free for nominated pods on their node (status.nominatedNodeName). Other pods were
// evicted for a nominated pod, so no pod of lower rank is allowed to take the freed capacity before
// the nominated pod is bound.
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

/// Protects the pods that are nominated to one node and outrank the incoming pod. For each of them,
/// in the order of rank, the guard determines the first of these states of the node in which it
/// fits together with the protected pods before it:
///   - the node as it is;
///   - the node without its terminating pods;
///   - the node without all pods of lower priority, because the API server may not have shown the
///     evictions yet.
/// A nominated pod that fits in none of these states is not protected.
///
/// The guard places the protected pods tentatively, at placements that fit() offers. It tries the
/// tightest placement first and uses no scores, so that the result does not depend on the profile
/// of the incoming pod. The result is exact for one nominated pod. For several pods the number of
/// trials is limited: beyond the limit, the next pod is not protected, or a placement counts as
/// leaving too little capacity (docs/decisions/0017). Not thread-safe; for one decision.
class NominationGuard {
 public:
  NominationGuard(const model::NodeState& node, const IncomingPod& incoming,
                  const NodeContext& context);

  /// Whether no pod is protected, so that the incoming pod may take any placement.
  [[nodiscard]] bool empty() const { return protected_pods_.empty(); }
  /// Whether all protected pods still fit, each in the state of the node that was determined for
  /// it, if the incoming pod takes this placement.
  [[nodiscard]] bool admits(model::PlacementView placement);
  /// Returns a copy of `state` in which fit() treats some GPUs as different from all others (see
  /// plan/gpu_marks.hpp). These are the GPUs that hold a pod which must end before a protected pod
  /// fits. Null if there are no such GPUs. `state` must outlive the copy.
  [[nodiscard]] model::NodeStatePtr with_distinct_gpus(const model::NodeState& state) const;
  /// The work done so far, in the units of FitMemo::work.
  [[nodiscard]] std::int64_t work() const;
  /// The protected pods at their tentative placements, without the incoming pod.
  [[nodiscard]] const std::vector<model::HoldingPtr>& tentative_holdings() const {
    return tentative_holdings_;
  }
  /// Those of tentative_holdings() whose pods fit on the node as it is.
  [[nodiscard]] std::vector<model::HoldingPtr> startable_holdings() const;

 private:
  class TentativeNode;
  /// The pods that must end before a nominated pod fits. The guard chooses the first of these
  /// values for which the nominated pod fits.
  enum class WaitsFor : std::uint8_t { kNobody, kTerminating, kAllLowerPriority };
  struct ProtectedPod {
    const model::Nomination* pod = nullptr;
    WaitsFor waits_for = WaitsFor::kNobody;
    std::int64_t size = 0;         // placement_size() of its tightest placement
    fit::FitMemo* memo = nullptr;  // the memo of the pod's request; owned by memos_
  };

  [[nodiscard]] static bool is_gone(const model::Holding& holding,
                                    const model::Nomination& nomination, WaitsFor waits);
  void protect(const model::Nomination& nomination, TentativeNode& tentative);
  [[nodiscard]] std::vector<bool> gpus_to_distinguish() const;

  const model::NodeState& node_;
  const IncomingPod& incoming_;
  NodeContext context_;
  std::vector<std::unique_ptr<fit::FitMemo>> memos_;
  std::vector<ProtectedPod> protected_pods_;  // the protected pods, in the order of rank
  std::vector<model::HoldingPtr> tentative_holdings_;
  std::vector<bool> distinct_gpus_;  // the result of gpus_to_distinguish()
  int remaining_searches_;
};

}  // namespace snug::plan
