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
  /// Namespace and name of Snug's own pod. To wake pending pods, Snug changes an annotation of this
  /// pod, or, if its namespace or name is empty, an annotation of a node.
  std::string own_namespace;
  std::string own_pod;
  /// The scheduler's minor version. Before 1.32 a change of Snug's own pod wakes no pod, so that
  /// Snug annotates the CSIStorageCapacity `snug-room` of its namespace instead.
  int kubernetes_minor = 36;
  std::uint64_t seed = 1;  // seeds the random waits and the random names of events
};

/// The referenced objects must outlive every object that is constructed with this context. `clock`
/// decides when credential files are read again, when an event may be repeated and when the
/// back-off is reset. Time-outs of sockets do not use it; they use std::chrono::steady_clock.
struct KubeContext {
  const base::Limits& limits;
  service::Metrics& metrics;
  service::Log& log;
  const base::Clock& clock;
};

}  // namespace snug::kube
