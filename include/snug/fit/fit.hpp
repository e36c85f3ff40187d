// Feasibility: the only place that decides whether a pod can have devices of a node, and which.
// Pure functions of one node's state, a request, and what the operator lets its namespace share.
//
// A request of one container is judged GPU by GPU (src/fit/single.cpp), one of several by search
// (src/fit/search.cpp). Both find a placement if and only if there is one (but see kMostFitSteps).
#pragma once

#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// The placements of `request` on `node` that score terms may choose among, written to `options`,
/// whose memory is reused. Where one GPU is asked for these are all, in ascending order of GPU
/// position, of neighbours in the same state (GpuState::same_as) only the first; where more are,
/// those that differ, up to some number. kNone: there is at least one. Any other reason: there is
/// none, `options` is empty, and the reason is true of the node: without the constraint that it
/// names (and those that Level in src/fit/levels.hpp lists after it) there would be one. The
/// request is not empty; `prices` are its own.
[[nodiscard]] ReasonCode fit(const NodeState& node, const GpuRequest& request, const Tenant& tenant,
                             Prices& prices, PlacementList& options);

}  // namespace snug
