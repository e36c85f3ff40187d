// Handles requests of one container: checks each GPU separately. The container needs as many
// suitable GPUs as it requests.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug::fit {

/// Does the same as fit() for an annotated pod's request of one container.
[[nodiscard]] model::ReasonCode fit_one_container(const model::NodeState& node,
                                                  const Tenant& tenant, FitMemo& memo,
                                                  model::PlacementList& placements);

/// Does the same as can_fit() for an annotated pod's request of one container.
[[nodiscard]] bool can_fit_one_container(const model::NodeState& node, const Tenant& tenant,
                                         FitMemo& memo);

}  // namespace snug::fit
