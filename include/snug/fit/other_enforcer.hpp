// Which requests other node-side software (model::OtherEnforcer) cannot make true, so that fit
// refuses them on its nodes. Besides these it gives containers no slices (fit/mig_free), and the
// modes that it lacks are not in the inventory. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"

namespace snug::fit {

/// The longest name of a container with which every key `nvidia.com/container.<name>.…` has at most
/// 63 characters after the slash.
inline constexpr std::size_t kLongestFractionName =
    63 - std::string_view("container..gpu-compute.portion").size();

/// Whether the name of the container is too long for NvFractions.
[[nodiscard]] inline bool is_long_for_fractions(const model::ContainerRequest& container) {
  return container.container.size() > kLongestFractionName;
}

/// What the node's enforcer cannot express of the request of an annotated pod, as a clause for
/// people. Empty if it can express all, or if the node has no such enforcer.
[[nodiscard]] std::string_view unexpressed(const model::NodeInventory& node,
                                           const model::GpuRequest& request);

}  // namespace snug::fit
