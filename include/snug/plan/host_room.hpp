// Decides whether a node has enough CPU, memory and pod slots for one more pod, according to
// kube-scheduler's plugin NodeResourcesFit. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// Whether a pod that requests `asked` fits on a node whose `pods` other pods use `used`. True if
/// the node's allocatable is unknown. A resource that the pod does not request, or that the node
/// does not publish, always suffices, even if the node is over-committed.
[[nodiscard]] inline bool host_has_room(const HostCapacity& all, const HostAmounts& used,
                                        std::int64_t pods, const HostAmounts& asked) {
  const auto enough = [](std::int64_t wanted, std::int64_t taken, std::int64_t has) {
    return wanted <= 0 || has <= 0 || (taken <= has && wanted <= has - taken);
  };
  return !all.known || (enough(1, pods, all.pods) &&
                        enough(asked.cpu_milli, used.cpu_milli, all.amounts.cpu_milli) &&
                        enough(asked.memory_bytes, used.memory_bytes, all.amounts.memory_bytes));
}

[[nodiscard]] inline bool host_has_room(const NodeState& node, const HostAmounts& asked) {
  return host_has_room(node.inventory->host, node.host_used, node.pods, asked);
}

}  // namespace snug
