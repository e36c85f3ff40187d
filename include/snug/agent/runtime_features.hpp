// What a container runtime offers to plug-ins of NRI, by its name and version. A plug-in that
// subscribes to an event that the runtime does not know is refused. Pure.
#pragma once

#include <string_view>

namespace snug::agent {

struct RuntimeFeatures {
  bool cdi_injection = false;  // a plug-in can add CDI devices to a container
  /// An error in the answer to StartContainer keeps the container from starting.
  bool start_refusal = false;
  bool validation = false;  // a plug-in can refuse what all plug-ins together do to a container

  friend bool operator==(const RuntimeFeatures&, const RuntimeFeatures&) = default;
};

/// `name` and `version` as the runtime reports them, like containerd and v2.4.2 or cri-o
/// and 1.34.1. Suffixes, like -k3s1, are ignored, but alpha, beta and candidate releases count as
/// older than their release. An unknown runtime, or a version that cannot be read, offers nothing.
[[nodiscard]] RuntimeFeatures runtime_features(std::string_view name, std::string_view version);

}  // namespace snug::agent
