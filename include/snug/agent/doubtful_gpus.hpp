// GPUs whose report by the driver cannot be right, like two with one uuid, so that a container
// would get another one's device node, or Snug would refuse the whole inventory. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "snug/agent/device_report.hpp"

namespace snug::agent {

/// A GPU that the driver reports and the agent does not.
struct LeftOutGpu {
  int index = 0;
  std::string reason;

  friend bool operator==(const LeftOutGpu&, const LeftOutGpu&) = default;
};

/// Replaces each GPU of `now` whose report cannot be right by what `before` has at its index, as
/// not healthy, and removes it if `before` has nothing, or a GPU whose uuid another has now, or
/// whose minor number a healthy one has. Returns those that it removed. Of two GPUs with one uuid
/// or minor number the one that had both before is right. A GPU that was healthy and has another
/// minor number now is doubted once: the next report that says so is believed.
[[nodiscard]] std::vector<LeftOutGpu> replace_doubtful(NodeDevices& now, const NodeDevices& before);

}  // namespace snug::agent
