// What is taken on a node: the sum of its holdings over its inventory. Always computed anew from
// those two, so that no increment can be lost or doubled.
//
// Holders are never dropped. Where they add up to more than a GPU has, or disagree with the
// inventory, all stay counted and the GPU closes: GpuState::closure says why, and
// NodeState::conflict where no single GPU shows it.
//   - NodeState::gpu_of says which GPU a device is charged to; one whose uuid is gone closes that
//     at its index (kChanged), one that is not there at all has a GPU of its own among
//     NodeState::vanished.
//   - A device counts for what its reservation states; where that is not what the request costs on
//     that GPU, for the larger of the two, and the GPU closes (kSuspect), as it does where it may
//     not be in the device's mode. A whole GPU counts as whole.
#pragma once

#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// `inventory` is not null. The result is complete and immutable from here on.
[[nodiscard]] NodeStatePtr add_up(std::shared_ptr<const NodeInventory> inventory,
                                  std::vector<HoldingPtr> holdings);

}  // namespace snug
