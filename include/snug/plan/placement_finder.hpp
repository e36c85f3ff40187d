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

/// The placement with the best score; the first one if several are equal. `options` must not be
/// empty.
[[nodiscard]] BestOption best_option(const model::NodeState& node, const IncomingPod& incoming,
                                     const model::Demand& demand,
                                     const model::PlacementList& options);

/// A claim with the other inputs of fit().
struct FitQuery {
  const IncomingPod& incoming;
  const fit::Tenant& tenant;
  fit::FitMemo& memo;  // of the claim's request
};

/// What PlacementFinder::find() found.
struct FoundPlacements {
  model::ReasonCode reason = model::ReasonCode::kNone;  // kNone: there is a placement
  /// The node with the intents of other pods counted as holdings; the placements fit there. Null:
  /// no intent counts on this node.
  model::NodeStatePtr with_intents;
};

/// Finds the placements for a claim on one node that respect the intents of other pods and the pods
/// nominated to the node. Both filter and bind use it.
class PlacementFinder {
 public:
  /// All arguments must outlive the finder. find() writes the placements to `options`.
  PlacementFinder(const model::NodeState& node, const FitQuery& query, const NodeContext& context,
                  model::PlacementList& options)
      : node_(node), query_(query), context_(context), options_(options) {}

  /// The placements
  ///   - fit when other pods' intents count as holdings;
  ///   - open an empty GPU only in the mode in which it would open without those intents;
  ///   - leave enough free for the nominated pods of higher rank, which is computed without
  ///   intents.
  /// The reason is kPromised if only the intents prevent a placement.
  FoundPlacements find();

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
  std::int64_t guard_setup_work_ = 0;     // work of computing nominated_
};

/// As choose_placement(). `memo` must belong to the claim's request; it also counts the work for
/// nominated pods.
[[nodiscard]] NodeChoice choose_placement_with(fit::FitMemo& memo, const model::NodeState& node,
                                               const IncomingPod& incoming,
                                               const NodeContext& context);

}  // namespace snug::plan
