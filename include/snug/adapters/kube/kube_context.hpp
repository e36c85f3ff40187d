// The options and collaborators of KubeApi, KubeSource and KubeLease.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug::kube {

struct KubeOptions {
  std::chrono::milliseconds api_timeout{1000};
  /// Snug's own pod, which is touched to wake pending pods; empty: a node is touched instead.
  std::string own_namespace;
  std::string own_pod;
  std::uint64_t seed = 1;  // for random waits and names
};

/// All references must outlive the objects that are made with them. The clock decides when files
/// are read again, when an event may be repeated and when the back-off is reset; time-outs of
/// sockets use real time.
struct KubeContext {
  const base::Limits& limits;
  service::Metrics& metrics;
  service::Log& log;
  const base::Clock& clock;
};

}  // namespace snug::kube
