// Marks GPUs that are identical now but will differ when some of their pods have ended, so that
// fit() treats them as different. Pure.
#pragma once

#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// A set of a node's GPUs, indexed by position; may be empty for none.
using GpuMarks = std::vector<bool>;

/// Marks the GPUs on which the pod has devices.
void mark_gpus(const model::NodeState& node, const model::Holding& holding, GpuMarks& marks);

/// A copy of the state in which each marked GPU differs from all others
/// (GpuState::is_interchangeable_with), so that fit() does not offer an identical GPU instead.
/// `state` must outlive the copy.
[[nodiscard]] model::NodeStatePtr with_distinct_gpus(const model::NodeState& state,
                                                     const GpuMarks& marks);

}  // namespace snug::plan
