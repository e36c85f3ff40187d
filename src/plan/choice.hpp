// The steps that filter and bind share.
#pragma once

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

/// Drops the placements that leave no room for those that come first.
void keep_for_nominated(const NominatedFirst& nominated, PlacementList& options);

/// Of placements on the node as others' intents will make it, drops those that open an empty GPU in
/// another mode than it would have without them: a pod's place depends on no intent.
void keep_as_without_intents(const NodeState& node, const GpuRequest& request,
                             PlacementList& options);

}  // namespace snug
