// Finds the largest smaller request that fits on a node now.
#pragma once

#include <vector>

#include "explain/trial.hpp"
#include "snug/explain/explanation.hpp"

namespace snug::explain {

/// Returns advice to ask for less: a smaller size on as many devices, fewer devices of the same
/// size, both, or a smaller MIG profile. If no smaller profile fits, the advice is another profile,
/// of the kind kProfile. Empty if the request is for a kind that cannot shrink or if not even the
/// smallest request fits. `slots` are the nodes to try; the first ones should have the most free
/// capacity.
[[nodiscard]] std::vector<Advice> smaller_requests(const model::Snapshot& snapshot,
                                                   const plan::IncomingPod& incoming,
                                                   std::span<const Slot> slots);

/// Returns advice to accept other GPU models or another isolation.
[[nodiscard]] std::vector<Advice> other_preferences(const model::Snapshot& snapshot,
                                                    const plan::IncomingPod& incoming,
                                                    std::span<const Slot> slots);

}  // namespace snug::explain
