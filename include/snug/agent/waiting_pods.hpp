// Which pods wait for the agent, by what the kubelet shows of their containers: the agent refused a
// container, or the container runtime refused it while the agent was away. Pure; thread-safe.
#pragma once

#include <string_view>

#include "snug/agent/pod_view.hpp"
#include "snug/agent/required_plugins.hpp"

namespace snug::agent {

/// How each message begins by which the agent refuses a container.
inline constexpr std::string_view kRefusalPrefix = "snug: ";

/// Whether the runtime, or snug-gate, has refused the container because it requires a plug-in that
/// is absent. The sentence has the name of the plug-in in quotes; another cause of the same reason,
/// such as a missing image, does not.
[[nodiscard]] bool lacks_plugin(const PodContainerView& container, std::string_view plugin);

/// Whether one of the pod's containers waits for the agent. The container `probe` of an agent's pod
/// does not: it requires another plug-in.
[[nodiscard]] bool waits_for_agent(const PodView& pod);

}  // namespace snug::agent
