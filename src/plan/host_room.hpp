// Whether a node has cpu, memory and a place for one more pod, as kube-scheduler's NodeResourcesFit
// counts them. Pure.
#pragma once

#include <cstdint>

#include "snug/model/host.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// Whether a pod that asks for `asked` has room beside `pods` others that use `used`. True where
/// the node's allocatable is not known. An amount of which the pod asks for nothing, or of which
/// the node states nothing, counts as enough, even where others use more than there is.
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
