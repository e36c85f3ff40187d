// What is odd about a pod that holds GPUs, in one sentence for people. Pure.
#pragma once

#include <string>

#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::service {

/// That the pod is on a node that Snug does not know; empty: the node is known. The pod still
/// counts towards the cap of its namespace.
[[nodiscard]] std::string unknown_node_remark(const model::Holding& pod,
                                              const model::Snapshot& snapshot);

}  // namespace snug::service
