// The steps that filter and bind share.
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

/// `options` is not empty. The first of equals.
[[nodiscard]] Best best_option(const NodeState& node, const Claim& claim, const Demand& demand,
                               const PlacementList& options);

/// Who asks, as fit() wants to hear it.
struct Asking {
  const Claim& claim;
  const Tenant& tenant;
  FitMemo& memo;  // of the claim's request
};

/// What find() has found.
struct Offered {
  ReasonCode reason = ReasonCode::kNone;  // kNone: there is a placement
  /// The node with the intents of other pods on it: the placements fit there. Null: the node has no
  /// intent that counts.
  NodeStatePtr later;
};

/// Finds what one node offers a claim beside the intents of other pods there, and beside the pods
/// that are nominated to it. Filter and bind both decide by it.
class Offer {
 public:
  /// What is named outlives it. `options`: where the answers go.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// Fills the options with placements that
  ///   - fit beside the intents of others;
  ///   - open an empty GPU only in the mode in which it would open without those intents;
  ///   - leave room for the nominated pods that come first, which is reckoned without intents.
  /// Where there would be placements but for the intents, the reason is kPromised.
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
  std::optional<NominatedFirst> nominated_;  // nothing: not looked at yet
  std::int64_t known_work_ = 0;              // of finding out who they are
};

/// As choose_on(). `memo`: of the claim's request; its work is also that for nominated pods.
[[nodiscard]] NodeChoice choose_with(FitMemo& memo, const NodeState& node, const Claim& claim,
                                     const Around& around);

}  // namespace snug
