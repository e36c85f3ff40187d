// Reads the GPUs of a node: NodeFacts → NodeInventory. The source is the annotation
// snug.dev/inventory if it is present, else the labels of GPU Feature Discovery if product, count
// and memory are valid; else the node has no GPUs. A malformed or stale inventory closes the node,
// with a reason; no value is guessed.
#pragma once

#include "snug/base/limits.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::codec {

/// Never fails: problems are reported in closed_to_all, closed_to_annotated and closed_message.
[[nodiscard]] model::NodeInventory read_inventory(const model::NodeFacts& node,
                                                  const base::Limits& limits);

}  // namespace snug::codec
