// Feasibility: the only place that decides whether a pod can have devices of a node, and which.
// Pure functions of one node's state and a request; never configurable.
#pragma once

#include "snug/fit/charge.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// Every placement of `request` on `node` that score terms may choose among, in ascending order of
/// GPU position, of neighbours in the same state (GpuState::same_as) only the first; written to
/// `options`, whose memory is reused. kNone: there is at least one. Any other reason: there is
/// none, `options` is empty, and the reason is true of the node. The request is not empty; `prices`
/// are its own.
[[nodiscard]] ReasonCode fit(const NodeState& node, const GpuRequest& request, Prices& prices,
                             PlacementList& options);

}  // namespace snug
