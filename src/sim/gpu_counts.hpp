// Counts the used and free GPUs of a snapshot. A unit of nvidia.com/gpu counts as one GPU, or as
// one of the replicas of a GPU.
#pragma once

#include "snug/model/snapshot.hpp"
#include "snug/sim/report.hpp"

namespace snug::sim {

[[nodiscard]] GpuCounts count_gpus(const model::NodeState& node);
/// Returns the sums over all nodes.
[[nodiscard]] GpuCounts count_gpus(const model::Snapshot& snapshot);

}  // namespace snug::sim
