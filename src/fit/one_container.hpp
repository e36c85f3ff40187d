// Requests of one container: each GPU is judged on its own, and as many GPUs as the container
// requests must serve it.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug::fit {

/// Does the same as fit() for an annotated pod's request of one container.
[[nodiscard]] model::ReasonCode fit_one_container(const model::NodeState& node,
                                                  const Tenant& tenant, FitMemo& memo,
                                                  model::PlacementList& options);

/// As can_fit(), for such a request.
[[nodiscard]] bool can_fit_one_container(const model::NodeState& node, const Tenant& tenant,
                                         FitMemo& memo);

}  // namespace snug::fit
