// What Snug writes to the API server, apart from the Lease: bindings and events. Plain data.
#pragma once

#include <string>

#include "snug/base/clock.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::model {

/// The single write of a bind. It sets the pod's nodeName and annotations together. The API server
/// rejects it if the pod's uid differs.
struct Binding {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;
  StringMap annotations;
  /// The latest time at which the binding may be sent.
  base::TimePoint not_after = base::TimePoint::max();
};

/// A Kubernetes event about a pod, or about a Lease.
struct Notice {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string reason;  // a constant in CamelCase
  std::string note;    // one sentence
  bool lease = false;  // true: the event is about a Lease, and `pod` is its name
};

}  // namespace snug::model
