// What is taken on a node: the sum of its holdings over its inventory. Always computed anew from
// those two, so that no increment can be lost or doubled.
//
// Holders are never dropped. If they add up to more than a GPU has, or contradict the inventory,
// all stay counted and the GPU closes: GpuState::closure says why, and NodeState::conflict if no
// single GPU shows it.
//   - NodeState::find_gpu says which GPU a device is charged to. If the device's uuid is gone, the
//   GPU
//     at its index closes (kChanged). If there is no GPU at its index either, it is charged to an
//     entry of NodeState::vanished.
//   - A whole GPU counts as whole. The memory of a share by fraction follows the GPU's size: it
//     counts what its request costs on the GPU as it is today (fit/charge). Any other device,
//     slices included, counts what its reservation states.
//   - If a reservation states what its request cannot have cost (src/fit/plausible.hpp), the larger
//     of the two counts, and the GPU closes (kSuspect). It also closes if the operator does not
//     allow the device's mode on it.
//   - A GPU closes as over-committed if its holders have more compute than it has, or more memory
//     than rounding explains: n shares by fraction that fitted together on a GPU of another size
//     may, each rounded to MiB, add up to n - 1 MiB too much. (Shares of 1 MiB or more are rounded
//     down, so that they exceed the GPU only beside requests in MiB.) A GPU with slices closes if
//     two of them overlap, whatever its size.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// The sum of the holdings that have no GPU (Holding::is_cpu_only). A node may have thousands of
/// them, of which one at a time comes or goes.
struct CpuOnlyHoldings {
  model::HostResources requested;
  std::int64_t pod_count = 0;
  /// All of them, which NodeState::holdings lists after the others. Empty: they are too many to
  /// list, and NodeState has only their sums.
  std::vector<model::HoldingPtr> listed;
};

/// `inventory` is not null. The result is complete and never changes.
[[nodiscard]] model::NodeStatePtr build_node_state(
    std::shared_ptr<const model::NodeInventory> inventory, std::vector<model::HoldingPtr> holdings,
    const CpuOnlyHoldings& hosts = {});

/// The node with these holdings instead of those that it lists. What it counts but does not list
/// stays counted.
[[nodiscard]] model::NodeStatePtr with_holdings(const model::NodeState& node,
                                                std::vector<model::HoldingPtr> holdings);

}  // namespace snug::fit
