// Converts the nodes and pods of a trace: a node to the inventory that it would publish, and a pod
// to the request that its annotations would state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "snug/model/host_resources.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim {

/// The node's name in the ledger. Names sort in the order of ranks.
[[nodiscard]] std::string node_name_of_rank(std::size_t rank);
[[nodiscard]] std::string arrival_uid(std::size_t arrival);

[[nodiscard]] model::NodeInventory make_inventory(const TraceNode& node, std::size_t rank);
[[nodiscard]] model::HostResources host_resources_of(const TraceNode& node);
[[nodiscard]] model::HostResources host_resources_of(const TracePod& pod);

/// The annotations that state the pod's request, without the models that it accepts. Empty: the pod
/// asks for no GPU.
[[nodiscard]] model::StringMap annotations_of(const TracePod& pod);
/// The requests of Trace::pods, in the same order.
[[nodiscard]] std::vector<model::GpuRequest> requests_of(const Trace& trace);

}  // namespace snug::sim
