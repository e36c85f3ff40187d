// Why a node cannot serve a request, said more closely than the levels of fit/levels.hpp do.
#pragma once

#include "snug/fit/fit.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// The reason to tell instead of `found`, which the levels gave:
///   - kNoProfile where a container names a MIG profile that no GPU of the node has, or could have
///     in MIG mode;
///   - kTooLarge instead of kWrongMode where a container asks for more than any GPU, and more than
///     any slice, of the node has;
///   - else `found` itself.
/// Names of cards that it reads count as steps of `memo`, whose request it is.
[[nodiscard]] ReasonCode closest_reason(const NodeState& node, FitMemo& memo, ReasonCode found);

}  // namespace snug
