// GPUs that are identical now and will differ once some pods have left them. Pure.
#pragma once

#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// A subset of a node's GPUs, by position; empty: none.
using GpuMarks = std::vector<bool>;

/// Marks the GPUs on which the pod has devices.
void mark_gpus(const NodeState& node, const Holding& holding, GpuMarks& marks);

/// The same state, except that a marked GPU equals no other (GpuState::same_as), so that fit() does
/// not offer an identical one in its place. `state` outlives it.
[[nodiscard]] NodeStatePtr told_apart(const NodeState& state, const GpuMarks& marks);

}  // namespace snug
