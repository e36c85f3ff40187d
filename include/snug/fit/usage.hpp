// What is taken on a node: the sum of its holdings over its inventory. Always computed anew from
// those two, so that no increment can be lost or doubled.
//
// Holders are never dropped. Where they add up to more than a GPU has, or disagree with the
// inventory, all stay counted and the GPU closes: GpuState::closure says why, and
// NodeState::conflict where no single GPU shows it.
//   - NodeState::gpu_of says which GPU a device is charged to; one whose uuid is gone closes that
//     at its index (kChanged), one that is not there at all has a GPU of its own among
//     NodeState::vanished.
//   - A whole GPU counts as whole. Of a share by fraction the memory follows the GPU's size: it
//     counts for what its request costs on the GPU as it is today (fit/charge). Any other device
//     counts for what its reservation states, so that what was asked in MiB stays, as do slices.
//   - Where a reservation states what its request cannot have cost (docs/decisions/0011), the
//     larger of the two counts, and the GPU closes (kSuspect), as it does where it may not be in
//     the device's mode.
//   - A GPU closes as over-committed when its holders have more compute than it has, or more memory
//     than rounding explains: n shares by fraction that fitted together on a GPU of another size
//     may, each rounded to MiB, add up to n - 1 MiB too much. (Shares that are worth 1 MiB or more
//     are rounded down: of them this is true only beside requests in MiB.) A GPU with slices closes
//     when two of them overlap, whatever its size.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// Holdings of the host alone (Holding::of_host_alone), which touch no GPU, added up beforehand: a
/// node may have thousands, of which one comes or goes.
struct HostHoldings {
  HostAmounts used;
  std::int64_t pods = 0;
  /// All of them, which NodeState::holdings lists after the others; or none: they are too many, and
  /// NodeState has their sums alone.
  std::vector<HoldingPtr> listed;
};

/// `inventory` is not null. The result is complete and immutable from here on.
[[nodiscard]] NodeStatePtr add_up(std::shared_ptr<const NodeInventory> inventory,
                                  std::vector<HoldingPtr> holdings, const HostHoldings& hosts = {});

/// The node with these holdings instead of those that it lists. What it counts without listing
/// stays.
[[nodiscard]] NodeStatePtr with_holdings(const NodeState& node, std::vector<HoldingPtr> holdings);

}  // namespace snug
