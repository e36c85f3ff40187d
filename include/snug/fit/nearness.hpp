// Of nodes that cannot serve a request, which comes nearest to it.
#pragma once

#include <cstddef>

#include "snug/model/refusal.hpp"

namespace snug {

/// Smaller where less has to happen for a node with this reason to serve the request: first what
/// the end of other pods changes, then what the operator of the node can change, then what the node
/// is.
[[nodiscard]] std::size_t distance_by(ReasonCode reason);

}  // namespace snug
