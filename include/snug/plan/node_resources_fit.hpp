// Decides whether a node has enough CPU, memory and pod slots, and enough of the resources that
// mirror shares, for one more pod, by the rules of kube-scheduler's plugin NodeResourcesFit. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host_resources.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// Whether `requested` of a resource fits beside `used`. A resource that is not requested, or of
/// which nothing is allocatable, is always sufficient.
[[nodiscard]] inline bool resource_fits(std::int64_t requested, std::int64_t used,
                                        std::int64_t allocatable) {
  return requested <= 0 || allocatable <= 0 ||
         (used <= allocatable && requested <= allocatable - used);
}

/// Whether a pod that requests `requested` fits on a node. `allocatable` is the allocatable of the
/// node; `host_used` is the sum of the requests of its `pods` pods. True if the allocatable is
/// unknown. A resource that the pod does not request, or that the node does not publish, is always
/// sufficient, even if the node is over-committed.
[[nodiscard]] inline bool node_resources_fit(const model::HostAllocatable& allocatable,
                                             const model::HostResources& host_used,
                                             std::int64_t pods,
                                             const model::HostResources& requested) {
  return !allocatable.known || (resource_fits(1, pods, allocatable.pod_slots) &&
                                resource_fits(requested.cpu_milli, host_used.cpu_milli,
                                              allocatable.resources.cpu_milli) &&
                                resource_fits(requested.memory_bytes, host_used.memory_bytes,
                                              allocatable.resources.memory_bytes));
}

/// The same for the resources that mirror shares. `allocatable` is that of the node's status.
[[nodiscard]] inline bool mirrored_amounts_fit(const model::ListedAmounts& allocatable,
                                               const model::MirroredAmounts& used,
                                               const model::MirroredAmounts& requested) {
  return resource_fits(requested.milli.value, used.milli.value, allocatable.milli.value_or(0)) &&
         resource_fits(requested.memory.value, used.memory.value,
                       allocatable.memory_mib.value_or(0));
}

[[nodiscard]] inline bool node_resources_fit(const model::NodeState& node,
                                             const model::HostResources& requested) {
  return node_resources_fit(node.inventory->host, node.host_used, node.pod_count, requested);
}

}  // namespace snug::plan
