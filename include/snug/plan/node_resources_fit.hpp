// Decides whether a node has enough CPU, memory and pod slots for one more pod, by the rules of
// kube-scheduler's plugin NodeResourcesFit. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host_resources.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// Whether a pod that requests `requested` fits on a node. `allocatable` is the allocatable of the
/// node; `host_used` is the sum of the requests of its `pods` pods. True if the allocatable is
/// unknown. A resource that the pod does not request, or that the node does not publish, is always
/// sufficient, even if the node is over-committed.
[[nodiscard]] inline bool node_resources_fit(const model::HostAllocatable& allocatable,
                                             const model::HostResources& host_used,
                                             std::int64_t pods,
                                             const model::HostResources& requested) {
  const auto enough = [](std::int64_t requested_amount, std::int64_t used_amount,
                         std::int64_t allocatable_amount) {
    return requested_amount <= 0 || allocatable_amount <= 0 ||
           (used_amount <= allocatable_amount &&
            requested_amount <= allocatable_amount - used_amount);
  };
  return !allocatable.known ||
         (enough(1, pods, allocatable.pod_slots) &&
          enough(requested.cpu_milli, host_used.cpu_milli, allocatable.resources.cpu_milli) &&
          enough(requested.memory_bytes, host_used.memory_bytes,
                 allocatable.resources.memory_bytes));
}

[[nodiscard]] inline bool node_resources_fit(const model::NodeState& node,
                                             const model::HostResources& requested) {
  return node_resources_fit(node.inventory->host, node.host_used, node.pod_count, requested);
}

}  // namespace snug::plan
