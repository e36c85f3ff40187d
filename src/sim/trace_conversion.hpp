// Converts a trace's nodes and pods into the objects of the service: the inventory that a node
// would publish, and the request that a pod's annotations would state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "snug/model/host_resources.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim {

/// Names that sort as the ranks do.
[[nodiscard]] std::string node_name_of_rank(std::size_t rank);
[[nodiscard]] std::string arrival_uid(std::size_t arrival);

[[nodiscard]] model::NodeInventory make_inventory(const TraceNode& node, std::size_t rank);
[[nodiscard]] model::HostResources host_in_identity(const TraceNode& node);
[[nodiscard]] model::HostResources host_in_identity(const TracePod& pod);

/// The annotations by which the pod would ask, but for the models that it names; empty: it asks for
/// no GPU.
[[nodiscard]] model::StringMap annotations_of(const TracePod& pod);
/// Of each of the trace's pods.
[[nodiscard]] std::vector<model::GpuRequest> requests_of(const Trace& trace);

}  // namespace snug::sim
