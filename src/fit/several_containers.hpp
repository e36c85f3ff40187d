// Handles requests of several containers: decides which GPUs of a node serve which containers.
// src/fit/patterns.hpp computes what one GPU can serve, and src/fit/cover.hpp searches for a way to
// serve all containers.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug::fit {

struct Answer {
  model::ReasonCode reason = model::ReasonCode::kNone;
  bool gave_up = false;  // refused only because the search reached its limit
};

/// Does the same as fit() for an annotated pod's request of several containers.
[[nodiscard]] Answer fit_several_containers(const model::NodeState& node, const Tenant& tenant,
                                            FitMemo& memo, model::PlacementList& placements);

/// Does the same as can_fit() for an annotated pod's request of several containers.
[[nodiscard]] bool can_fit_several_containers(const model::NodeState& node, const Tenant& tenant,
                                              FitMemo& memo);

}  // namespace snug::fit
