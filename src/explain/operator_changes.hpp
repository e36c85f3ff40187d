// Finds changes by an operator that make the incoming pod fit: of a node's label, of the modes that
// its GPUs may have, of its GPUs' health, of a namespace's cap or sharing rule.
#pragma once

#include <span>
#include <vector>

#include "explain/trial.hpp"
#include "snug/explain/explanation.hpp"

namespace snug::explain {

/// Changes of one node. `slots` are the nodes to try; of each change, at most one node is returned.
/// A mode of GPUs is tried by itself.
[[nodiscard]] std::vector<Advice> node_changes(Trial& trial, std::span<const Slot> slots);

/// Changes of the policy's rules for the namespace of the incoming pod.
[[nodiscard]] std::vector<Advice> rule_changes(const model::Snapshot& snapshot,
                                               const plan::IncomingPod& incoming,
                                               std::span<const Slot> slots);

}  // namespace snug::explain
