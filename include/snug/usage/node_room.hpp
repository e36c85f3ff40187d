// What the GPUs of one node still have for new pods, as far as one GPU alone decides it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "snug/model/snapshot.hpp"
#include "snug/usage/cluster_usage.hpp"

namespace snug::usage {

/// For each GPU of the node: whether a pod that asks for one whole GPU, by annotation or by
/// nvidia.com/gpu, could take it. Nobody knows which GPUs the kubelet has assigned, so the first
/// ones of the node count as assigned.
[[nodiscard]] std::vector<bool> free_whole_gpus(const model::NodeState& node);

/// For each GPU of the node: the milli-GPU of the kubelet-assigned units, by the same assumption.
/// The sum is NodeState::kubelet_milli, unless the node has no GPU.
[[nodiscard]] std::vector<base::MilliGpu> kubelet_compute(const model::NodeState& node);

struct FreePart {
  FreeShare share;
  std::int64_t milli = 0;  // the smaller of its memory and compute, in thousandths of the GPU

  /// A larger part of a GPU, then more memory, then the lower node name and index.
  [[nodiscard]] bool is_better_than(const FreePart& other) const;
};

/// The largest share, whole GPU or slice that the GPU at this position can give to an annotated
/// pod. Nullopt: there is none, or the node accepts no annotated pods.
[[nodiscard]] std::optional<FreePart> free_part(const model::NodeState& node, std::size_t position);

}  // namespace snug::usage
