// Marks GPUs that are equal now and will differ once some pods are gone. Pure.
#pragma once

#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// Of a node's GPUs, by position; empty: none.
using GpuMarks = std::vector<bool>;

/// Marks the GPUs of which the pod has devices.
void mark_gpus(const NodeState& node, const Holding& holding, GpuMarks& marks);

/// A copy in which no marked GPU is equal to another (GpuState::same_as). fit() offers one of
/// several equal GPUs; of the copy it offers each marked one. Valid while `state` is.
[[nodiscard]] NodeStatePtr told_apart(const NodeState& state, const GpuMarks& marks);

}  // namespace snug
