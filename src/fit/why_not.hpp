// Reasons that say more than the constraint that refuses a request.
#pragma once

#include "snug/fit/fit.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// The reason to report instead of `found`, which a constraint gave:
///   - kNoProfile if a container names a MIG profile that no GPU of the node has, or could have in
///     MIG mode;
///   - kTooLarge instead of kWrongMode if a container asks for more than any GPU, and more than any
///     slice, of the node has;
///   - else `found` itself.
/// Reading the names of cards counts as steps of `memo`.
[[nodiscard]] model::ReasonCode closest_reason(const model::NodeState& node, FitMemo& memo,
                                               model::ReasonCode found);

}  // namespace snug::fit
