// The decision about one node, which filter and bind share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plan/nominated.hpp"
#include "snug/fit/fit.hpp"
#include "snug/plan/claim.hpp"
#include "snug/plan/plan.hpp"

namespace snug {

struct Best {
  std::size_t option = 0;
  std::int64_t score_class = 0;
};

/// Precondition: `options` is not empty. The first of equally good ones.
[[nodiscard]] Best best_option(const NodeState& node, const Claim& claim, const Demand& demand,
                               const PlacementList& options);

/// The arguments of fit() that depend on the pod.
struct Asking {
  const Claim& claim;
  const Tenant& tenant;
  FitMemo& memo;  // of the claim's request
};

/// The result of Offer::find().
struct Offered {
  ReasonCode reason = ReasonCode::kNone;  // kNone: there is a placement
  /// The node with other pods' intents, on which the placements fit. Null: there are none.
  NodeStatePtr later;
};

/// Finds the placements that a node offers a pod beside other pods' intents and nominated pods.
class Offer {
 public:
  /// All arguments outlive it. `options`: receives the placements.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// The placements
  ///   - fit beside other pods' intents;
  ///   - open an empty GPU only in the mode in which it would open without those intents;
  ///   - leave the nominated pods that outrank the pod what they need, computed without intents.
  /// kPromised: there are placements without the intents, and none with them.
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
  std::int64_t known_work_ = 0;              // of computing it
};

/// As choose_on(). `memo`: of the claim's request; it also counts the work for nominated pods.
[[nodiscard]] NodeChoice choose_with(FitMemo& memo, const NodeState& node, const Claim& claim,
                                     const Around& around);

}  // namespace snug
