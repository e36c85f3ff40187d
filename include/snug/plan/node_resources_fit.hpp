// Decides whether a node has enough CPU, memory and pod slots for one more pod, by the rules of
// kube-scheduler's plugin NodeResourcesFit. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host_resources.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// Whether a pod that requests `asked` fits on a node. `all` is the allocatable of the node; `used`
/// is the sum of the requests of its `pods` pods. True if the allocatable is unknown. A resource
/// that the pod does not request, or that the node does not publish, is always sufficient, even if
/// the node is over-committed.
[[nodiscard]] inline bool node_resources_fit(const model::HostAllocatable& all,
                                             const model::HostResources& used, std::int64_t pods,
                                             const model::HostResources& asked) {
  const auto enough = [](std::int64_t wanted, std::int64_t taken, std::int64_t has) {
    return wanted <= 0 || has <= 0 || (taken <= has && wanted <= has - taken);
  };
  return !all.known || (enough(1, pods, all.pod_slots) &&
                        enough(asked.cpu_milli, used.cpu_milli, all.resources.cpu_milli) &&
                        enough(asked.memory_bytes, used.memory_bytes, all.resources.memory_bytes));
}

[[nodiscard]] inline bool node_resources_fit(const model::NodeState& node,
                                             const model::HostResources& asked) {
  return node_resources_fit(node.inventory->host, node.host_used, node.pod_count, asked);
}

}  // namespace snug::plan
