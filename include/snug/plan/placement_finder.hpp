// The decision for one node, shared by filter, bind, preemption and repacking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "snug/fit/fit.hpp"
#include "snug/plan/incoming_pod.hpp"
#include "snug/plan/nomination_guard.hpp"
#include "snug/plan/plan.hpp"

namespace snug::plan {

struct BestOption {
  std::size_t option = 0;
  std::int64_t score_class = 0;
};

/// Returns the placement in `options` with the highest score; of several such placements, the
/// first. `options` must not be empty.
[[nodiscard]] BestOption best_option(const model::NodeState& node, const IncomingPod& incoming,
                                     const model::Demand& demand,
                                     const model::PlacementList& options);

/// The incoming pod and the other inputs of fit().
struct FitQuery {
  const IncomingPod& incoming;
  const fit::Tenant& tenant;
  fit::FitMemo& memo;  // the memo of the request of `incoming`
};

/// The intents on a node that count like holdings for the incoming pod: those of other pods. If the
/// pod is nominated to the node, those of pods of lower rank do not count, because bind refuses
/// these pods.
[[nodiscard]] model::Intents counted_intents(const model::PodRank& incoming,
                                             const NodeContext& context);

/// What PlacementFinder::find() found.
struct FoundPlacements {
  model::ReasonCode reason = model::ReasonCode::kNone;  // kNone: there is a placement
  /// The state of the node with the intents of other pods counted as holdings. The placements are
  /// feasible in this state. Null: no intent counts on this node.
  model::NodeStatePtr with_intents;
};

/// Finds the placements of an incoming pod on one node that respect the intents of other pods and
/// the pods nominated to the node. Both filter and bind use it.
class PlacementFinder {
 public:
  /// All arguments must outlive the finder. find() writes the placements to `options`.
  PlacementFinder(const model::NodeState& node, const FitQuery& query, const NodeContext& context,
                  model::PlacementList& options)
      : node_(node), query_(query), context_(context), options_(options) {}

  /// Each placement that find() returns meets these conditions:
  ///   - It is feasible when the intents of other pods count as holdings.
  ///   - If it shares a GPU that is empty apart from intents, it uses a mode that the pod
  ///     requests, or the default mode of the GPU.
  ///   - It leaves enough capacity for the nominated pods of higher rank. Intents do not count
  ///     for this condition.
  /// The reason is kPromised if only the intents prevent a placement.
  FoundPlacements find();

  /// The best of the placements that find() wrote to `options`. `found`: its result; the reason
  /// must be kNone.
  [[nodiscard]] BestOption best(const FoundPlacements& found) const {
    return best_option(found.with_intents == nullptr ? node_ : *found.with_intents, query_.incoming,
                       context_.demand, options_);
  }

 private:
  [[nodiscard]] model::NodeStatePtr with_intents() const;
  model::ReasonCode fit_on_state(const model::NodeState& state);
  void keep_default_modes();
  void keep_admitted(NominationGuard& guard);
  void fit_beside_nominated(NominationGuard& guard, const model::NodeState& state);
  void fit_and_filter(const model::NodeState& state, NominationGuard& guard);

  const model::NodeState& node_;
  FitQuery query_;
  NodeContext context_;
  model::PlacementList& options_;
  std::optional<NominationGuard> guard_;  // nullopt: not computed yet
  std::int64_t guard_setup_work_ = 0;     // the work of constructing guard_
};

/// Does the same as choose_placement(), but uses `memo`, which must belong to the incoming pod's
/// request. `memo` also counts the work for nominated pods.
[[nodiscard]] NodeChoice choose_placement_with(fit::FitMemo& memo, const model::NodeState& node,
                                               const IncomingPod& incoming,
                                               const NodeContext& context);

}  // namespace snug::plan
