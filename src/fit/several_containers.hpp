// Requests of several containers: which GPUs of a node serve which of them. src/fit/patterns.hpp
// computes what one GPU can serve, and src/fit/cover.hpp searches for a way to serve all.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug::fit {

struct Answer {
  model::ReasonCode reason = model::ReasonCode::kNone;
  bool gave_up = false;  // refused only because the search reached its limit
};

/// As fit(), for a request that asks Snug for devices in several containers.
[[nodiscard]] Answer fit_several_containers(const model::NodeState& node, const Tenant& tenant,
                                            FitMemo& memo, model::PlacementList& options);

/// As can_fit(), for such a request.
[[nodiscard]] bool can_fit_several_containers(const model::NodeState& node, const Tenant& tenant,
                                              FitMemo& memo);

}  // namespace snug::fit
