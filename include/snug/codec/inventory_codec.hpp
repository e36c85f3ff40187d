// Makes the NodeInventory of a node from its NodeFacts. The source of the GPUs is the annotation
// snug.dev/inventory if the node has it, and otherwise the labels of GPU Feature Discovery. A node
// with neither has no GPUs. If the source is malformed or stale, the node is closed with a reason;
// no value is guessed.
#pragma once

#include "snug/base/limits.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::codec {

/// Never fails. Problems are reported in closed_to_all, closed_to_annotated and closed_message of
/// the result.
[[nodiscard]] model::NodeInventory read_inventory(const model::NodeFacts& node,
                                                  const base::Limits& limits);

}  // namespace snug::codec
