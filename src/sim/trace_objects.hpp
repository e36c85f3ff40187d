// Converts a trace's nodes and pods into the objects of the service: the inventory that a node
// would publish, and the request that a pod's annotations would state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "snug/model/host.hpp"
#include "snug/model/node.hpp"
#include "snug/model/request.hpp"
#include "snug/sim/trace.hpp"

namespace snug {

/// Names that sort as the ranks do.
[[nodiscard]] std::string ranked_name(std::size_t rank);
[[nodiscard]] std::string arrival_uid(std::size_t arrival);

[[nodiscard]] NodeInventory inventory_of(const TraceNode& node, std::size_t rank);
[[nodiscard]] HostAmounts host_of(const TraceNode& node);
[[nodiscard]] HostAmounts host_of(const TracePod& pod);

/// The annotations by which the pod would ask, but for the models that it names; empty: it asks for
/// no GPU.
[[nodiscard]] StringMap annotations_of(const TracePod& pod);
/// Of each of the trace's pods.
[[nodiscard]] std::vector<GpuRequest> requests_of(const Trace& trace);

}  // namespace snug
