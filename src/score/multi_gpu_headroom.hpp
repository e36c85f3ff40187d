// Headroom for pods that need several GPUs at once: how many of them a node has a place for, now or
// when some of its pods have ended. Pure.
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

/// A node's headroom, in parts of kOne of a milli-GPU:
///
///   H = sum over shapes of share * 1000 * gpus * sum over blocks j = 1, 2, ... of discount(D_j)
///
/// The j-th block of a shape are the `gpus` GPUs of its models with the fewest pods beside those of
/// the blocks before it. D_j are the pods that have to end until the node has j blocks: those on
/// the GPUs of all of them, and, if CPU or memory are short then, as many of the others as hold
/// what is missing, in the mean. Of the node's GPUs the first kMaxHeadroomGpus count.
class MultiGpuHeadroom {
 public:
  explicit MultiGpuHeadroom(const model::NodeState& node);

  /// The node as it will be with the placement of a pod that asks for `host`. Without takes, where
  /// the kubelet picks the devices, `milli` of GPUs are taken of the idle ones in their order.
  [[nodiscard]] MultiGpuHeadroom after(model::PlacementView placement, std::int64_t milli,
                                       const model::HostResources& host) const;

  [[nodiscard]] std::int64_t value(std::span<const model::MultiGpuShape> shapes) const;

 private:
  /// Pods are counted in thousandths (kPodMilli): a pod on n GPUs is 1/n of a pod on each.
  struct Gpu {
    model::ModelSet model = 0;  // 0: takes no whole pod
    std::uint32_t position = 0;
    std::int32_t pod_milli = 0;  // 0: idle
    // Of the pods on it.
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
  };
  struct Sum {
    std::int64_t pod_milli = 0;
    // Free once these pods have ended.
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    // Held by each of the other pods, in the mean.
    std::int64_t cpu_each = 1;
    std::int64_t memory_each = 1;
  };
  using Sums = std::array<Sum, base::kMaxHeadroomGpus + 1>;

  void sort();
  /// Spreads `pod_milli` over the first `gpus` idle GPUs.
  void occupy_by_count(std::int64_t gpus, std::int64_t pod_milli);
  /// Over the first 0, 1, 2, ... GPUs of these models; returns how many there are.
  std::size_t add_up(model::ModelSet models, Sums& sums) const;
  /// D_j in thousandths, for j blocks whose GPUs add up to `sum`.
  [[nodiscard]] std::int64_t pods_to_end(const Sum& sum, std::int64_t blocks,
                                         const model::MultiGpuShape& shape) const;

  std::array<Gpu, base::kMaxHeadroomGpus> gpus_;  // by pod_milli, then by position
  std::size_t gpu_count_ = 0;
  bool host_known_;
  std::int64_t kubelet_milli_ = 0;  // milli-GPU that the kubelet's pods hold
  Sum allocatable_;                 // with all the node's pods
  Sum free_;
};

}  // namespace snug::score
