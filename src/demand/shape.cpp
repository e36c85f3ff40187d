#include "snug/demand/shape.hpp"

#include <algorithm>
#include <tuple>
#include <variant>

namespace snug {

std::int64_t PodShape::milli_each(MebiBytes of_gpu) const {
  if (gpu_memory.value == 0 || of_gpu.value <= 0) return gpu_milli;
  const std::int64_t part =
      std::clamp<std::int64_t>(1000 * gpu_memory.value / of_gpu.value, 1, 1000);
  return std::max(part, gpu_milli);
}

namespace {

/// More than any node has of CPU (thousandths of a core) and memory (MiB), and, by the GPU, of
/// milli-GPU: what pods ask has no limit but 64 bits, and what is learned of it is multiplied.
constexpr std::int64_t kMostOfPod = 1'000'000'000;
constexpr std::int64_t kMostGpus = kMostOfPod / 1000;

/// Of one GPU.
PodShape share_of(const ContainerRequest& asked) {
  PodShape shape{.gpus = std::min(asked.count, kMostGpus)};
  if (const auto* fraction = std::get_if<FractionAsk>(&asked.ask)) {
    shape.gpu_milli = fraction->thousandths;
  } else if (const auto* memory = std::get_if<MemoryAsk>(&asked.ask)) {
    shape.gpu_memory = memory->memory;
  } else {
    shape.gpu_milli = kWholeGpu.value;
  }
  if (asked.compute_percent) {
    shape.gpu_milli = std::max<std::int64_t>(shape.gpu_milli, 10 * *asked.compute_percent);
  }
  shape.wanted = asked.models.wanted;
  shape.excluded = asked.models.excluded;
  return shape;
}

}  // namespace

PodShape shape_of(const GpuRequest& request, const HostAmounts& host) {
  PodShape most;
  std::int64_t gpus = 0;
  for (const ContainerRequest& asked : request.containers) {
    PodShape shape = share_of(asked);
    if (asked.kind == ContainerKind::kApp) gpus = std::min(gpus + shape.gpus, kMostGpus);
    const auto size = [](const PodShape& of) {
      return std::tie(of.gpu_milli, of.gpu_memory, of.gpus);
    };
    if (size(most) < size(shape)) most = std::move(shape);
  }
  most.gpus = std::max(most.gpus, gpus);
  most.cpu_milli = std::min(host.cpu_milli, kMostOfPod);
  most.memory_mib = std::min(host.memory_bytes >> 20, kMostOfPod);
  return most;
}

}  // namespace snug
