// Says in one sentence what a node lacks for the incoming pod, with names and amounts, and who
// holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/trial.hpp"
#include "snug/explain/explanation.hpp"

namespace snug::explain {

/// The GPU at a position of NodeState::gpus: `GPU 0 (NVIDIA-A100-SXM4-40GB)`.
[[nodiscard]] std::string gpu_name(const model::NodeState& node, std::size_t gpu);

/// How much one GPU of a node lacks for a container of the request.
struct GpuShortfall {
  std::size_t gpu = 0;             // position in NodeState::gpus
  std::int64_t memory_mib = 0;     // missing memory; 0: enough
  std::int64_t compute_milli = 0;  // missing compute; 0: enough
  std::int64_t thousandths = 0;    // the larger of both, in thousandths of the GPU
};

/// The shortfall of the node for the trial's request: of the GPU that would have to get more room,
/// so that as many suitable GPUs as the request needs have room. The first container with devices
/// decides.
[[nodiscard]] GpuShortfall shortfall_of(Trial& trial, const model::NodeState& node);

/// What the node lacks, by the reason that the trial gave.
[[nodiscard]] std::string node_sentence(Trial& trial, const model::NodeState& node,
                                        model::ReasonCode reason);

/// The pods that hold what the pod lacks on the node: on the GPU of shortfall_of(), or the units
/// that the kubelet assigned. At most kMaxBlockers, those that hold most first.
[[nodiscard]] std::vector<Blocker> blockers_on(Trial& trial, const model::NodeState& node);

}  // namespace snug::explain
