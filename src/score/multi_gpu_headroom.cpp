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

/// The number of pods that must end to free the amount `missing` if each pod frees `each`. Rounded
/// up to whole pods, and returned in thousandths of a pod.
std::int64_t pods_freeing(std::int64_t missing, std::int64_t each) {
  return missing <= 0 ? 0 : (missing + each - 1) / each * model::kPodMilli;
}

}  // namespace

MultiGpuHeadroom::MultiGpuHeadroom(const model::NodeState& node)
    : gpu_count_(std::min(node.gpus.size(), base::kMaxHeadroomGpus)),
      host_known_(node.inventory->host.known) {
  const model::HostResources& all = node.inventory->host.resources;
  allocatable_ = {.pod_milli = node.pod_count * model::kPodMilli,
                  .cpu_milli = clamped(all.cpu_milli),
                  .memory_mib = mebibytes(all.memory_bytes)};
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
  const auto each = static_cast<std::int32_t>(std::max<std::int64_t>(1, pod_milli / gpus));
  for (std::size_t i = 0; i < gpu_count_ && gpus > 0; ++i) {
    if (gpus_[i].pod_milli > 0) continue;
    gpus_[i].pod_milli = each;
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
  MultiGpuHeadroom result = *this;
  result.free_.cpu_milli -= clamped(host.cpu_milli);
  result.free_.memory_mib -= mebibytes(host.memory_bytes);
  result.allocatable_.pod_milli += model::kPodMilli;
  const auto gpus = static_cast<std::int32_t>(
      std::ranges::count_if(placement.allocations, [&](const model::DeviceAllocation& allocation) {
        return model::is_first_on_gpu(placement, allocation);
      }));
  if (gpus == 0) {
    result.occupy_by_count(gpus_of(kubelet_milli_ + milli) - gpus_of(kubelet_milli_),
                           model::kPodMilli);
    result.kubelet_milli_ += milli;
  }
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    if (!model::is_first_on_gpu(placement, allocation)) continue;
    for (std::size_t i = 0; i < gpu_count_; ++i) {
      Gpu& gpu = result.gpus_[i];
      if (gpu.position != allocation.gpu) continue;
      gpu.pod_milli += model::kPodMilli / gpus;
      gpu.cpu_milli += clamped(host.cpu_milli / gpus);
      gpu.memory_mib += mebibytes(host.memory_bytes / gpus);
      break;
    }
  }
  result.sort();
  return result;
}

std::size_t MultiGpuHeadroom::add_up(model::ModelSet models, Sums& sums) const {
  std::size_t gpus = 0;
  sums[0] = free_;
  for (std::size_t i = 0; i < gpu_count_; ++i) {
    const Gpu& gpu = gpus_[i];
    if ((gpu.model & models) == 0) continue;
    const Sum& before = sums[gpus];
    Sum& sum = sums[++gpus];
    sum = {.pod_milli = before.pod_milli + gpu.pod_milli,
           .cpu_milli = before.cpu_milli + gpu.cpu_milli,
           .memory_mib = before.memory_mib + gpu.memory_mib};
    const std::int64_t others = allocatable_.pod_milli - sum.pod_milli;
    sum.cpu_each = mean_per_pod(allocatable_.cpu_milli - sum.cpu_milli, others);
    sum.memory_each = mean_per_pod(allocatable_.memory_mib - sum.memory_mib, others);
  }
  return gpus;
}

std::int64_t MultiGpuHeadroom::pods_to_end(const Sum& sum, std::int64_t blocks,
                                           const model::MultiGpuShape& shape) const {
  if (!host_known_) return sum.pod_milli;
  const std::int64_t cpu = blocks * shape.cpu_milli;
  const std::int64_t memory = blocks * shape.memory_mib;
  if (cpu > allocatable_.cpu_milli || memory > allocatable_.memory_mib) return kUnreachable;
  return sum.pod_milli + std::max(pods_freeing(cpu - sum.cpu_milli, sum.cpu_each),
                                  pods_freeing(memory - sum.memory_mib, sum.memory_each));
}

std::int64_t MultiGpuHeadroom::value(std::span<const model::MultiGpuShape> shapes) const {
  std::int64_t value = 0;
  Sums sums;
  model::ModelSet summed = 0;
  std::size_t gpus = 0;
  for (const model::MultiGpuShape& shape : shapes) {
    if (summed != shape.models) gpus = add_up(summed = shape.models, sums);
    const auto of_block = static_cast<std::size_t>(shape.gpus);
    std::int64_t weight = 0;
    for (std::size_t blocks = 1; blocks * of_block <= gpus; ++blocks) {
      const std::int64_t pod_milli =
          pods_to_end(sums[blocks * of_block], static_cast<std::int64_t>(blocks), shape);
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
