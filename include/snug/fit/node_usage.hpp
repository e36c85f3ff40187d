// Computes the use of a node: the sum of its holdings over its inventory. Always computes the whole
// sum, so that no increment can be lost or counted twice.
//
// All holdings stay counted, even if they take more than a GPU has or contradict the inventory. In
// such a case the GPU closes, and GpuState::closure says why. NodeState::conflict describes a
// conflict between pods on the node that is not a conflict on one GPU.
//   - A device is charged to the GPU that NodeState::find_gpu returns. If the inventory has no
//     GPU with the device's uuid, the device is charged to the GPU at its index, and this GPU
//     closes (kChanged) if it has another uuid. If there is no GPU at this index either, the
//     device is charged to an entry of NodeState::vanished.
//   - A whole GPU is charged in full. A share by fraction is charged what its request takes of
//     a GPU of the present size (fit/charge). A slice is charged the larger of what its
//     reservation states and what its profile has. Any other device is charged what its
//     reservation states.
//   - If a reservation states a charge that is not plausible for its request
//     (src/fit/plausible.hpp), the device is charged the larger of the stated charge and that
//     of the request, and the GPU closes (kSuspect). The GPU also closes (kSuspect) if the
//     operator does not allow the device's mode on it.
//   - A GPU closes (kOverCommitted) if its holdings take more compute or memory than it has. If
//     n of them are shares by fraction, an excess of memory of up to n - 1 MiB is tolerated:
//     rounding can cause it if they were placed together when the GPU had another size.
//     (Fractions of at least 1 MiB are rounded down, so without requests in MiB they do not
//     exceed the GPU.)
//   - A GPU with slices closes (kOverCommitted) if two of its slices cannot exist together. The
//     sums of memory and compute are not checked on such a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// The sum of the CPU-only holdings of a node (Holding::is_cpu_only). The sum is kept, because a
/// node can have thousands of these holdings, which come and go one at a time.
struct CpuOnlyHoldings {
  model::HostResources requested;
  model::MirroredAmounts mirrored;
  std::int64_t pod_count = 0;
  /// All CPU-only holdings; NodeState::holdings lists them after the others. Empty if there are too
  /// many to list; NodeState then has only their sum.
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
