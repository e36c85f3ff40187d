// Requests of several containers: tries their assignments to the GPUs of a node one by one. Apps
// and sidecars come first (those that leave the least choice before the others), then the plain
// init containers in the pod's order, which take the apps' devices first and the sidecars' next, in
// the order of the list. Of equal GPUs only the first is tried.
#pragma once

#include "snug/fit/fit.hpp"

namespace snug {

/// As fit(), of a request that asks Snug for devices in several containers.
[[nodiscard]] ReasonCode fit_several(const NodeState& node, const GpuRequest& request,
                                     const Tenant& tenant, Prices& prices, PlacementList& options);

}  // namespace snug
