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
  const NodeState* state = nullptr;       // on which the placements fit
  bool beside_intents = false;            // they fit beside what others intend
};

/// What one node offers a claim beside those that are nominated to it. Filter and bind ask the
/// same.
class Offer {
 public:
  /// What is named outlives it. `options`: where the answers go.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// Fills the options with placements that fit on the node and leave room for those that come
  /// first. `later`: the node as others' intents will make it, beside which a placement is rather
  /// to fit, without opening an empty GPU in another mode than it would have without them: a pod's
  /// place depends on no intent. Null: there are none.
  Offered find(const NodeState* later);

 private:
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
                                     const Around& around, const NodeState* later = nullptr);

}  // namespace snug
