// The annotations of a pod by which NRI's default validator, or snug-gate, refuses a container
// while a plug-in of the container runtime is absent. Their values are YAML lists of plug-ins'
// names.
#pragma once

#include <string_view>

namespace snug::model {

/// Continued by the name of a container.
inline constexpr std::string_view kRequiredPluginsOfContainer =
    "required-plugins.noderesource.dev/container.";
/// Holds for the containers of the pod that have no key of their own.
inline constexpr std::string_view kRequiredPluginsOfPod = "required-plugins.noderesource.dev/pod";

}  // namespace snug::model
