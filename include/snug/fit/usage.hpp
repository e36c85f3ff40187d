// What is taken on a node: the sum of its holdings over its inventory. Always computed anew from
// those two, so that no increment can be lost or doubled.
//
// Holders are never dropped. Where they add up to more than a GPU has, or disagree with the
// inventory, all stay counted and the GPU closes (GpuState::closure says why):
//   - a device held by uuid is charged to the GPU with that uuid, wherever its index is now;
//   - where that uuid is gone but the index exists, to the GPU at the index, which closes
//   (kChanged);
//   - where neither exists, to a GPU of its own among NodeState::vanished;
//   - a device held by index alone is charged to whatever GPU has that index;
//   - a device counts for what its reservation states; where that is not what the request costs on
//   that GPU, for the larger of the two, and the GPU closes (kSuspect), as it does where it may not
//   be in the device's mode;
//   - a whole GPU counts as whole.
#pragma once

#include <memory>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// `inventory` is not null. The result is complete and immutable from here on.
[[nodiscard]] NodeStatePtr add_up(std::shared_ptr<const NodeInventory> inventory,
                                  std::vector<HoldingPtr> holdings);

}  // namespace snug
