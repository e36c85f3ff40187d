// Says in one sentence what a node lacks for the incoming pod, with names and amounts, and who
// holds it.
#pragma once

#include <cstdint>
#include <optional>
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
  std::size_t container = 0;       // position in GpuRequest::containers
  std::int64_t memory_mib = 0;     // missing memory; 0: enough
  std::int64_t compute_milli = 0;  // missing compute; 0: enough
  std::int64_t thousandths = 0;    // the larger of both, in thousandths of the GPU
};

/// The shortfall of the node for the trial's request: of the GPU that would have to get more room,
/// so that as many suitable GPUs as a container needs have room. Of several containers, the one
/// that lacks most as if the pod had no other, and of equal ones the first; 0 if each has room.
[[nodiscard]] GpuShortfall shortfall_of(Trial& trial, const model::NodeState& node);

/// What a node lacks of CPU, memory and pod slots for a pod.
struct HostShortfall {
  std::int64_t cpu_milli = 0;     // missing CPU; 0: enough
  std::int64_t memory_bytes = 0;  // missing memory; 0: enough
  bool pod_slot = false;          // every pod slot is taken
  std::int64_t thousandths = 0;   // the largest of these, in thousandths of the node
  bool even_if_empty = false;     // the request is larger than the node
};

/// Nothing is missing exactly if plan::node_resources_fit().
[[nodiscard]] HostShortfall host_shortfall_of(const model::NodeState& node,
                                              const model::HostResources& requested);

/// The distance of such a node among those of ReasonRow::distance (Explanation::nearest).
[[nodiscard]] std::uint16_t distance(const HostShortfall& shortfall);

/// `lacks 2 CPUs and has no free pod slot`; the node must lack something.
[[nodiscard]] std::string host_text(const HostShortfall& shortfall);
/// What a node lacks whose GPUs have room, but which lacks CPU, memory or a pod slot.
[[nodiscard]] std::string host_sentence(const model::NodeState& node,
                                        const model::HostResources& requested);

/// What the node lacks, by the reason that the trial gave. `known`: the result of shortfall_of(),
/// if the caller has it.
[[nodiscard]] std::string node_sentence(Trial& trial, const model::NodeState& node,
                                        model::ReasonCode reason,
                                        const std::optional<GpuShortfall>& known = {});

/// Who holds what the pod lacks on the node: on each GPU that must get room, for the container of
/// shortfall_of(), or the devices that the kubelet assigned. A pod has a row for each of these
/// GPUs. At most kMaxBlockers: first the pods that close the node, then those that hold most.
[[nodiscard]] std::vector<Blocker> blockers_on(Trial& trial, const model::NodeState& node);

}  // namespace snug::explain
