// What a node has: NodeFacts → NodeInventory. The annotation snug.dev/inventory where it is
// present, else the labels of GPU Feature Discovery where product, count and memory are all valid,
// else no GPUs. A malformed or stale inventory closes the node and says so; nothing is guessed.
#pragma once

#include "snug/base/limits.hpp"
#include "snug/model/node.hpp"

namespace snug {

/// Never fails: what is wrong is in closed_to_all, closed_to_annotated and closed_because.
[[nodiscard]] NodeInventory read_inventory(const NodeFacts& node, const Limits& limits);

}  // namespace snug
