// The holding that a placement of a published policy or rule makes in the ledger.
#pragma once

#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/sim/replay.hpp"

namespace snug_bench {

/// The pod, as bound with this placement.
[[nodiscard]] snug::model::HoldingPtr holding_of(const snug::sim::ArrivingPod& arriving,
                                                 const snug::model::NodeState& node,
                                                 const snug::model::Placement& placement);

}  // namespace snug_bench
