// Computes the use of a node: the sum of its holdings over its inventory. Always computes the whole
// sum, so that no increment can be lost or counted twice.
//
// All holdings stay counted, even if they take more than a GPU has or contradict the inventory. The
// GPU then closes, and GpuState::closure says why. NodeState::conflict describes a conflict that no
// single GPU shows.
//   - A device is charged to the GPU that NodeState::find_gpu returns. If the inventory has no GPU
//     with the device's uuid, that is the GPU at the device's index, which closes (kChanged) if it
//     has another uuid. If there is no GPU at this index either, the device is charged to an entry
//     of NodeState::vanished.
//   - A whole GPU counts as whole. A share by fraction counts what its request is charged on the
//     GPU's present size (fit/charge). A slice counts the larger of what its reservation states and
//     what its profile has. Any other device counts what its reservation states.
//   - If a reservation states a charge that its request cannot have had (src/fit/plausible.hpp),
//     the larger of the two counts, and the GPU closes (kSuspect). The GPU closes for the same
//     reason if the operator does not allow the device's mode on it.
//   - A GPU closes (kOverCommitted) if its holdings take more compute than it has, or more memory
//     than rounding explains. Rounding to MiB explains up to n - 1 MiB too much for n shares by
//     fraction that were placed together when the GPU had another size. (Shares of 1 MiB or more
//     are rounded down, so they exceed the GPU only together with requests in MiB.)
//   - A GPU with slices closes (kOverCommitted) if two of its slices cannot exist together. The
//     sums of its memory and compute do not matter.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// The sum of the CPU-only holdings of a node (Holding::is_cpu_only). The sum is kept, because a
/// node may have thousands of them and they come and go one at a time.
struct CpuOnlyHoldings {
  model::HostResources requested;
  std::int64_t pod_count = 0;
  /// All CPU-only holdings, which NodeState::holdings lists after the others. Empty: they are too
  /// many to list, and NodeState has only their sum.
  std::vector<model::HoldingPtr> listed;
};

/// Computes the state of a node from its inventory, which is not null, its holdings, and the
/// CPU-only holdings that `holdings` does not contain. The result never changes.
[[nodiscard]] model::NodeStatePtr build_node_state(
    std::shared_ptr<const model::NodeInventory> inventory, std::vector<model::HoldingPtr> holdings,
    const CpuOnlyHoldings& hosts = {});

/// Computes the state that the node would have with `holdings` in place of NodeState::holdings. The
/// CPU-only holdings that NodeState::holdings leaves out stay counted.
[[nodiscard]] model::NodeStatePtr with_holdings(const model::NodeState& node,
                                                std::vector<model::HoldingPtr> holdings);

}  // namespace snug::fit
