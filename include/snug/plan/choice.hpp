// Steps of a decision about one node that filter, bind, preemption and repacking share.
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

/// The placement with the best score; of equal ones the first. `options` is not empty.
[[nodiscard]] Best best_option(const NodeState& node, const Claim& claim, const Demand& demand,
                               const PlacementList& options);

/// A claim with what fit() needs besides.
struct Asking {
  const Claim& claim;
  const Tenant& tenant;
  FitMemo& memo;  // of the claim's request
};

/// What Offer::find() found.
struct Offered {
  ReasonCode reason = ReasonCode::kNone;  // kNone: there is a placement
  /// The node with the intents of other pods counted as taken: the placements fit there. Null: no
  /// intent counts on this node.
  NodeStatePtr later;
};

/// Finds the placements that one node offers to a claim beside the intents of other pods and beside
/// the pods nominated to the node. filter and bind both decide by it.
class Offer {
 public:
  /// All arguments outlive it. `options` receives the placements.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// Fills the options with placements that
  ///   - fit beside the intents of others;
  ///   - open an empty GPU only in the mode in which it would open without those intents;
  ///   - leave room for the nominated pods that come first, computed without intents.
  /// If there would be placements without the intents, the reason is kPromised.
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
  std::optional<NominatedFirst> nominated_;  // nothing: not computed yet
  std::int64_t known_work_ = 0;              // the work of computing nominated_
};

/// choose_on() with a memo of the claim's request, which also counts the work for nominated pods.
[[nodiscard]] NodeChoice choose_with(FitMemo& memo, const NodeState& node, const Claim& claim,
                                     const Around& around);

}  // namespace snug
