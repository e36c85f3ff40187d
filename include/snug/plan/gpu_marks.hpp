// Marks GPUs that are identical now but will differ when some of their pods have ended, so that
// fit() does not treat them as identical. Pure.
#pragma once

#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// A set of GPUs of one node, indexed by position. An empty vector is the empty set.
using GpuMarks = std::vector<bool>;

/// Marks the GPUs that the holding's reservation names.
void mark_gpus(const model::NodeState& node, const model::Holding& holding, GpuMarks& marks);

/// Returns a copy of the state in which each marked GPU differs from all others
/// (GpuState::is_interchangeable_with), so that fit() does not offer an identical GPU instead.
/// `state` must outlive the copy.
[[nodiscard]] model::NodeStatePtr with_distinct_gpus(const model::NodeState& state,
                                                     const GpuMarks& marks);

}  // namespace snug::plan
