// Whether a node has cpu, memory and a pod slot for one more pod, by the rules of kube-scheduler's
// NodeResourcesFit. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// Whether a pod that asks for `asked` fits beside `pods` others that use `used`. True if the
/// node's allocatable is not known. An amount that the pod does not ask for, or that the node does
/// not state, counts as enough, even if others use more than there is.
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
