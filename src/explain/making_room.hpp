// Finds pods whose end makes the incoming pod fit on one node, and intents and terminating pods for
// which it only has to wait.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "explain/trial.hpp"
#include "snug/explain/explanation.hpp"

namespace snug::explain {

/// Returns advice to wait: without the terminating pods, or without the intents, the incoming pod
/// fits on a node. Nullopt: on none of the nodes.
[[nodiscard]] std::optional<Advice> wait_for_room(Trial& trial, std::span<const Slot> slots);

/// Returns advice to end pods: the fewest pods of one node, of those sets that the search finds.
/// Stops after the first node state with which the work of `trial` exceeds `most_work`. Never names
/// pods in `protected_uids` (sorted). Nullopt: none is found.
[[nodiscard]] std::optional<Advice> end_pods(Trial& trial, std::span<const Slot> slots,
                                             std::span<const std::string_view> protected_uids,
                                             std::int64_t most_work);

}  // namespace snug::explain
