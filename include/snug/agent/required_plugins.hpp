// Plug-ins of the container runtime that a pod requires for a container, and the rule of snug-gate,
// which refuses such a container where the runtime itself does not.
//
// The runtime calls plug-ins in the order of their indexes, and shows each the container as the
// earlier ones have changed it. So Snug's plug-ins mark the containers that require them, and the
// gate, whose index is the last one, looks for the marks. A mark has the container's id, which the
// runtime has just made up: neither the pod's author nor the kubelet can have set it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/agent/container_view.hpp"

namespace snug::agent {

/// The container of the agent's pod that requires the plug-in kProbePlugin.
inline constexpr std::string_view kProbeContainer = "probe";
inline constexpr std::string_view kProbePlugin = "snug-probe";
/// The agent itself, which Snug's bindings require.
inline constexpr std::string_view kAgentPlugin = "snug";

/// Whether the pod's annotation requires `plugin` for the container.
[[nodiscard]] bool requires_plugin(const SandboxView& sandbox, const ContainerView& container,
                                   std::string_view plugin);

/// Adds the mark of `plugin` to the changes of a container that requires it.
void mark_if_required(const SandboxView& sandbox, const ContainerView& container,
                      std::string_view plugin, Adjustment& adjustment);

/// Why the gate refuses the container: it requires one of Snug's plug-ins and lacks its mark.
/// Nullopt: it does not refuse it. The sentence is also what the agent recognises (lacks_plugin()
/// of waiting_pods.hpp).
[[nodiscard]] std::optional<std::string> gate_refusal(const SandboxView& sandbox,
                                                      const ContainerView& container);

}  // namespace snug::agent
