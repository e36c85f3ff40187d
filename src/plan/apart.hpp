// GPUs that are alike today and will not be when some pods are gone. Pure.
#pragma once

#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// Which of a node's GPUs, by position; empty: none.
using GpuMarks = std::vector<bool>;

/// Marks those that the pod has devices of.
void mark_gpus(const NodeState& node, const Holding& holding, GpuMarks& marks);

/// The same state, but that a marked GPU is like no other (GpuState::same_as), so that fit() does
/// not offer another in its stead. To be used while `state` is there.
[[nodiscard]] NodeStatePtr told_apart(const NodeState& state, const GpuMarks& marks);

}  // namespace snug
