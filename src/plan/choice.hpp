// The steps that filter and bind share.
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
  std::int64_t score = 0;
};

/// `options` is not empty. The first of equals.
[[nodiscard]] Best best_option(const NodeState& node, const Claim& claim,
                               const PlacementList& options);

/// Who asks, as fit() wants to hear it.
struct Asking {
  const Claim& claim;
  const Tenant& tenant;
  FitMemo& memo;  // of the claim's request
};

/// What one node offers a claim beside those that are nominated to it. Filter and bind ask the
/// same.
class Offer {
 public:
  /// What is named outlives it. `options`: where the answers go.
  Offer(const NodeState& node, const Asking& asking, const Around& around, PlacementList& options)
      : node_(node), asking_(asking), around_(around), options_(options) {}

  /// Fills the options with placements that fit on the node and leave room for those that come
  /// first. kNone: there is one.
  ReasonCode now() { return on(node_); }
  /// The same on the node as others' intents will make it, without placements that open an empty
  /// GPU in another mode than it would have without them: a pod's place depends on no intent. There
  /// may be none though the reason is kNone.
  ReasonCode beside_intents(const NodeState& later) { return on(later); }

 private:
  ReasonCode on(const NodeState& state);
  void keep_as_without_others();
  void keep_for(const NominatedFirst& nominated);
  void look_further(const NominatedFirst& nominated, const NodeState& state);
  void offer_of(const NodeState& state, const NominatedFirst& nominated);

  const NodeState& node_;
  Asking asking_;
  Around around_;
  PlacementList& options_;
  std::optional<NominatedFirst> nominated_;  // nothing: not looked at yet
};

}  // namespace snug
