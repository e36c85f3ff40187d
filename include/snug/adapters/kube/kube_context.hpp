// What KubeApi and KubeSource are made with, besides the endpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug {

struct KubeOptions {
  std::chrono::milliseconds api_timeout{1000};
  /// Snug's own pod, for the wake-up of waiting pods; empty: a node is touched instead.
  std::string own_namespace;
  std::string own_pod;
  std::uint64_t seed = 1;  // of every random wait and name
};

/// All must outlive what is made with them. The clock says when files are due to be read again,
/// when an event may be repeated and when back-off starts afresh; time-outs of sockets take real
/// time.
struct KubeContext {
  const Limits& limits;
  Metrics& metrics;
  Log& log;
  const Clock& clock;
};

}  // namespace snug
