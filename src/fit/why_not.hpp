// Finds the reason to report for a refused request. It can be more specific than the reason of the
// constraint that refuses the request.
#pragma once

#include "snug/fit/fit.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Returns the reason to report for a request that is refused by the constraint with the reason
/// `refusal`:
///   - `refusal` itself if it comes before kWrongMode in the table of reasons;
///   - kNoProfile if a container names a MIG profile that no GPU of the node has, or could have in
///     MIG mode;
///   - kTooLarge instead of kWrongMode if a container requests more than any GPU and any slice of
///     the node has;
///   - else `refusal` itself.
/// Reading the names of cards counts as steps of `memo`.
[[nodiscard]] model::ReasonCode closest_reason(const model::NodeState& node, FitMemo& memo,
                                               model::ReasonCode refusal);

}  // namespace snug::fit
