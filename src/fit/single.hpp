// Requests of one container: every GPU is judged for itself, and as many are needed as it asks for.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug {

/// As fit(), where memo.request() asks Snug for devices in one container.
[[nodiscard]] ReasonCode fit_single(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                                    PlacementList& options);

}  // namespace snug
