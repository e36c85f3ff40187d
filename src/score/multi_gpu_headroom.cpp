#include "score/multi_gpu_headroom.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "snug/base/units.hpp"

namespace snug::score {
namespace {

constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max() / 2;

/// Limits an amount to kMost, which is more than any node has, so that sums over GPUs do not
/// overflow. Amounts from outside may have any 64-bit value.
std::int64_t clamped(std::int64_t amount) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  return std::clamp(amount, -kMost, kMost);
}

std::int64_t mebibytes(std::int64_t bytes) { return clamped(bytes >> 20); }

/// The number of GPUs on which `milli` milli-GPU are taken, if they fill one GPU after another.
std::int64_t gpus_of(std::int64_t milli) {
  return (milli + base::kWholeGpu.value - 1) / base::kWholeGpu.value;
}

/// The mean amount that each pod uses, at least 1. `used` is the amount that all pods use together;
/// `pod_milli` is the number of pods, in thousandths.
std::int64_t mean_per_pod(std::int64_t used, std::int64_t pod_milli) {
  return std::max<std::int64_t>(
      1, used * model::kPodMilli / std::max<std::int64_t>(model::kPodMilli, pod_milli));
}

/// The number of pods that must end to free the amount `missing` if each pod frees `freed_per_pod`.
/// Rounded up to whole pods, and returned in thousandths of a pod.
std::int64_t pods_freeing(std::int64_t missing, std::int64_t freed_per_pod) {
  return missing <= 0 ? 0 : (missing + freed_per_pod - 1) / freed_per_pod * model::kPodMilli;
}

}  // namespace

MultiGpuHeadroom::MultiGpuHeadroom(const model::NodeState& node)
    : gpu_count_(std::min(node.gpus.size(), base::kMaxHeadroomGpus)),
      host_known_(node.inventory->host.known) {
  const model::HostResources& allocatable = node.inventory->host.resources;
  allocatable_ = {.pod_milli = node.pod_count * model::kPodMilli,
                  .cpu_milli = clamped(allocatable.cpu_milli),
                  .memory_mib = mebibytes(allocatable.memory_bytes)};
  free_ = {.pod_milli = 0,
           .cpu_milli = clamped(node.host_free().cpu_milli),
           .memory_mib = clamped(node.host_free().memory_mib)};
  for (std::size_t i = 0; i < gpu_count_; ++i) {
    const model::GpuState& gpu = node.gpus[i];
    const bool usable = gpu.allows_whole && gpu.closure == model::GpuClosure::kOpen;
    gpus_[i] = {.model = usable ? model::ModelSet{1} << gpu.info->model_id : 0,
                .position = static_cast<std::uint32_t>(i),
                .pod_milli = gpu.pod_milli,
                .cpu_milli = clamped(gpu.host_requested.cpu_milli),
                .memory_mib = mebibytes(gpu.host_requested.memory_bytes)};
  }
  kubelet_milli_ = node.kubelet_milli;
  occupy_by_count(gpus_of(kubelet_milli_),
                  std::int64_t{node.kubelet_assigned_pods} * model::kPodMilli);
  sort();
}

void MultiGpuHeadroom::occupy_by_count(std::int64_t gpus, std::int64_t pod_milli) {
  if (gpus <= 0) return;
  const auto pod_milli_per_gpu =
      static_cast<std::int32_t>(std::max<std::int64_t>(1, pod_milli / gpus));
  for (std::size_t i = 0; i < gpu_count_ && gpus > 0; ++i) {
    if (gpus_[i].pod_milli > 0) continue;
    gpus_[i].pod_milli = pod_milli_per_gpu;
    --gpus;
  }
}

/// Insertion sort, because the GPUs are few and nearly in order after a placement.
void MultiGpuHeadroom::sort() {
  for (std::size_t i = 1; i < gpu_count_; ++i) {
    for (std::size_t k = i; k > 0 && std::pair(gpus_[k].pod_milli, gpus_[k].position) <
                                         std::pair(gpus_[k - 1].pod_milli, gpus_[k - 1].position);
         --k) {
      std::swap(gpus_[k], gpus_[k - 1]);
    }
  }
}

MultiGpuHeadroom MultiGpuHeadroom::after(model::PlacementView placement, std::int64_t milli,
                                         const model::HostResources& host) const {
  MultiGpuHeadroom headroom = *this;
  headroom.free_.cpu_milli -= clamped(host.cpu_milli);
  headroom.free_.memory_mib -= mebibytes(host.memory_bytes);
  headroom.allocatable_.pod_milli += model::kPodMilli;
  const auto gpus = static_cast<std::int32_t>(
      std::ranges::count_if(placement.allocations, [&](const model::DeviceAllocation& allocation) {
        return model::is_first_on_gpu(placement, allocation);
      }));
  if (gpus == 0) {
    headroom.occupy_by_count(gpus_of(kubelet_milli_ + milli) - gpus_of(kubelet_milli_),
                             model::kPodMilli);
    headroom.kubelet_milli_ += milli;
  }
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    if (!model::is_first_on_gpu(placement, allocation)) continue;
    for (std::size_t i = 0; i < gpu_count_; ++i) {
      Gpu& gpu = headroom.gpus_[i];
      if (gpu.position != allocation.gpu) continue;
      gpu.pod_milli += model::kPodMilli / gpus;
      gpu.cpu_milli += clamped(host.cpu_milli / gpus);
      gpu.memory_mib += mebibytes(host.memory_bytes / gpus);
      break;
    }
  }
  headroom.sort();
  return headroom;
}

std::size_t MultiGpuHeadroom::sum_first_gpus(model::ModelSet models, GpuSums& gpu_sums) const {
  std::size_t gpus = 0;
  gpu_sums[0] = free_;
  for (std::size_t i = 0; i < gpu_count_; ++i) {
    const Gpu& gpu = gpus_[i];
    if ((gpu.model & models) == 0) continue;
    const GpuSum& before = gpu_sums[gpus];
    GpuSum& gpu_sum = gpu_sums[++gpus];
    gpu_sum = {.pod_milli = before.pod_milli + gpu.pod_milli,
               .cpu_milli = before.cpu_milli + gpu.cpu_milli,
               .memory_mib = before.memory_mib + gpu.memory_mib};
    const std::int64_t other_pods = allocatable_.pod_milli - gpu_sum.pod_milli;
    gpu_sum.cpu_each = mean_per_pod(allocatable_.cpu_milli - gpu_sum.cpu_milli, other_pods);
    gpu_sum.memory_each = mean_per_pod(allocatable_.memory_mib - gpu_sum.memory_mib, other_pods);
  }
  return gpus;
}

std::int64_t MultiGpuHeadroom::pods_to_end(const GpuSum& gpu_sum, std::int64_t blocks,
                                           const model::MultiGpuShape& shape) const {
  if (!host_known_) return gpu_sum.pod_milli;
  const std::int64_t cpu = blocks * shape.cpu_milli;
  const std::int64_t memory = blocks * shape.memory_mib;
  if (cpu > allocatable_.cpu_milli || memory > allocatable_.memory_mib) return kUnreachable;
  return gpu_sum.pod_milli +
         std::max(pods_freeing(cpu - gpu_sum.cpu_milli, gpu_sum.cpu_each),
                  pods_freeing(memory - gpu_sum.memory_mib, gpu_sum.memory_each));
}

std::int64_t MultiGpuHeadroom::value(std::span<const model::MultiGpuShape> shapes) const {
  std::int64_t value = 0;
  GpuSums gpu_sums;
  model::ModelSet summed = 0;
  std::size_t gpus = 0;
  for (const model::MultiGpuShape& shape : shapes) {
    if (summed != shape.models) gpus = sum_first_gpus(summed = shape.models, gpu_sums);
    const auto of_block = static_cast<std::size_t>(shape.gpus);
    std::int64_t weight = 0;
    for (std::size_t blocks = 1; blocks * of_block <= gpus; ++blocks) {
      const std::int64_t pod_milli =
          pods_to_end(gpu_sums[blocks * of_block], static_cast<std::int64_t>(blocks), shape);
      // Rounds to the nearest eighth of a pod. A pod on three GPUs counts as kPodMilli / 3 on each,
      // rounded down, and these parts add up to less than one pod.
      constexpr std::int64_t kEighth = model::kPodMilli / 8;
      const auto eighths = static_cast<std::size_t>((pod_milli + kEighth / 2) / kEighth);
      if (eighths >= shape.discount.size()) break;
      weight += shape.discount[eighths];
    }
    value += shape.share * shape.gpus * weight / model::kFixedPointOne * base::kWholeGpu.value;
  }
  return value;
}

}  // namespace snug::score
