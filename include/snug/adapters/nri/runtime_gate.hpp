// The connection of snug-gate to the container runtime that has started it. The gate changes no
// container, and refuses those that require a plug-in of Snug which has not seen them
// (agent/required_plugins.hpp). It subscribes to the creation of containers alone, and answers from
// the request alone, so that the runtime has no reason to disconnect it.
#pragma once

#include <functional>
#include <string>

#include "snug/base/result.hpp"

namespace snug::nri {

struct GateOptions {
  int socket = -1;    // connected to the runtime; closed at the end
  std::string name;   // as the runtime knows the plug-in
  std::string index;  // two digits
  /// Called before the gate answers that it knows all containers: from then on the runtime asks it.
  std::function<void()> on_ready;
};

/// Serves the runtime until the connection ends, and returns why it has ended.
[[nodiscard]] base::Error serve_gate(const GateOptions& options);

}  // namespace snug::nri
