// Headroom: the number of pods with several GPUs each that a node can still take, now or after some
// of its pods have ended. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "snug/base/limits.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::score {

/// The headroom H of a node, in milli-GPU multiplied by kFixedPointOne:
///
///   H = sum over shapes of share * 1000 * gpus * sum over blocks j >= 1 of discount(D_j)
///
/// A block is a set of GPUs for one pod of a shape. To form block j, take the GPUs of the shape's
/// models that are in no earlier block; the block consists of the `gpus` GPUs among them that have
/// the fewest pods. D_j is the number of pods that must end before the node has room for j blocks.
/// These are the pods on the GPUs of the j blocks. If CPU or memory is then still short, D_j also
/// counts as many other pods as hold the missing amount on average. Only the first kMaxHeadroomGpus
/// GPUs of the node count.
class MultiGpuHeadroom {
 public:
  explicit MultiGpuHeadroom(const model::NodeState& node);

  /// Returns the headroom after the placement of a pod that requests `host`. If the placement has
  /// no allocations, because the kubelet assigns the devices, the pod is assumed to take `milli`
  /// milli-GPU of the first idle GPUs.
  [[nodiscard]] MultiGpuHeadroom after(model::PlacementView placement, std::int64_t milli,
                                       const model::HostResources& host) const;

  /// Returns the headroom H for these shapes, by the formula above.
  [[nodiscard]] std::int64_t value(std::span<const model::MultiGpuShape> shapes) const;

 private:
  /// Pods are counted in thousandths (kPodMilli): a pod on n GPUs counts as 1/n pod on each.
  struct Gpu {
    model::ModelSet model = 0;  // 0: the GPU cannot be taken whole
    std::uint32_t position = 0;
    std::int32_t pod_milli = 0;  // 0: the GPU is idle
    // CPU and memory that the pods on the GPU request.
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
  };
  /// A sum over the first GPUs of `gpus_` that have certain models.
  struct GpuSum {
    std::int64_t pod_milli = 0;  // pods on these GPUs
    // CPU and memory of the node that are free after these pods have ended.
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    // CPU and memory that each of the node's other pods holds on average.
    std::int64_t cpu_each = 1;
    std::int64_t memory_each = 1;
  };
  using GpuSums = std::array<GpuSum, base::kMaxHeadroomGpus + 1>;

  void sort();
  /// Distributes `pod_milli` equally over the first `gpus` idle GPUs.
  void occupy_by_count(std::int64_t gpus, std::int64_t pod_milli);
  /// Sets gpu_sums[n] to the sum over the first n GPUs of these models, for each n. Returns the
  /// number of GPUs of these models.
  std::size_t sum_first_gpus(model::ModelSet models, GpuSums& gpu_sums) const;
  /// Returns D_j of the formula above, in thousandths of pods. j is `blocks`, and `gpu_sum` is the
  /// sum over the GPUs of these blocks.
  [[nodiscard]] std::int64_t pods_to_end(const GpuSum& gpu_sum, std::int64_t blocks,
                                         const model::MultiGpuShape& shape) const;

  std::array<Gpu, base::kMaxHeadroomGpus> gpus_;  // sorted by pod_milli, then by position
  std::size_t gpu_count_ = 0;
  bool host_known_;
  std::int64_t kubelet_milli_ = 0;  // milli-GPU that kubelet-assigned pods hold
  GpuSum allocatable_;              // allocatable CPU and memory, and the number of all pods
  GpuSum free_;                     // the node's free CPU and memory
};

}  // namespace snug::score
