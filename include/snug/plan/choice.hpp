// The decision for one node, shared by filter, bind, preemption and repacking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "snug/fit/fit.hpp"
#include "snug/plan/claim.hpp"
#include "snug/plan/nominated.hpp"
#include "snug/plan/plan.hpp"

namespace snug {

struct Best {
  std::size_t option = 0;
  std::int64_t score_class = 0;
};

/// The placement with the best score; the first one if several are equal. `options` must not be
/// empty.
[[nodiscard]] Best best_option(const NodeState& node, const Claim& claim, const Demand& demand,
                               const PlacementList& options);

/// A claim with the other inputs of fit().
struct Asking {
  const Claim& claim;
  const Tenant& tenant;
  FitMemo& memo;  // of the claim's request
};

/// What Offer::find() found.
struct Offered {
  ReasonCode reason = ReasonCode::kNone;  // kNone: there is a placement
  /// The node with the intents of other pods counted as holdings; the placements fit there. Null:
  /// no intent counts on this node.
  NodeStatePtr later;
};

/// Finds the placements for a claim on one node that respect the intents of other pods and the pods
/// nominated to the node. Both filter and bind use it.
class Offer {
 public:
  /// All arguments must outlive it. `options` receives the placements.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// The placements
  ///   - fit when other pods' intents count as holdings;
  ///   - open an empty GPU only in the mode in which it would open without those intents;
  ///   - leave enough free for the nominated pods of higher rank, which is computed without
  ///   intents.
  /// The reason is kPromised if only the intents prevent a placement.
  Offered find();

 private:
  [[nodiscard]] NodeStatePtr with_intents() const;
  ReasonCode on(const NodeState& state);
  void keep_as_without_others();
  void keep_for(NominatedFirst& nominated);
  void look_further(NominatedFirst& nominated, const NodeState& state);
  void offer_of(const NodeState& state, NominatedFirst& nominated);

  const NodeState& node_;
  Asking asking_;
  Around around_;
  PlacementList& options_;
  std::optional<NominatedFirst> nominated_;  // nullopt: not computed yet
  std::int64_t known_work_ = 0;              // work of computing nominated_
};

/// As choose_on(). `memo` must belong to the claim's request; it also counts the work for nominated
/// pods.
[[nodiscard]] NodeChoice choose_with(FitMemo& memo, const NodeState& node, const Claim& claim,
                                     const Around& around);

}  // namespace snug
