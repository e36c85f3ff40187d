// From the devices of a reservation to device nodes of the host. Pure; thread-safe.
#pragma once

#include <expected>
#include <span>
#include <vector>

#include "snug/agent/container_decision.hpp"

namespace snug::agent {

/// The device nodes that the reserved devices need: of their GPUs, the control nodes, and for
/// slices those of the GPU and compute instances. Without repetitions, in a fixed order.
/// The refusal says which device, slice or node does not exist; all may appear later. A device
/// that is not healthy is found: what a bound pod holds stays its own.
[[nodiscard]] std::expected<std::vector<DriverNode>, ContainerRefusal> reserved_nodes(
    std::span<const model::ReservedDevice> devices, const NodeInput& node);

}  // namespace snug::agent
