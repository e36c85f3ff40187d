#include "snug/demand/shape.hpp"

#include <algorithm>
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

/// Parts of a GPU that a device plug-in offers are no GPUs.
bool is_part(const Ask& ask) {
  const auto* units = std::get_if<KubeletAsk>(&ask);
  return units != nullptr && units->resource.starts_with("nvidia.com/mig-");
}

bool is_share(const Ask& ask) {
  return std::holds_alternative<FractionAsk>(ask) || std::holds_alternative<MemoryAsk>(ask);
}

/// Adds what one container asks of each of its GPUs.
void add_share(const ContainerRequest& asked, PodShape& shape) {
  if (const auto* memory = std::get_if<MemoryAsk>(&asked.ask)) shape.gpu_memory += memory->memory;
  const auto* fraction = std::get_if<FractionAsk>(&asked.ask);
  const std::int64_t milli = asked.compute_percent ? 10 * *asked.compute_percent : 0;
  shape.gpu_milli += std::max<std::int64_t>(milli, fraction == nullptr ? 0 : fraction->thousandths);
  shape.gpus = std::max(shape.gpus, std::min(asked.count, kMostGpus));
}

}  // namespace

PodShape shape_of(const GpuRequest& request, const HostAmounts& host) {
  PodShape shape;
  std::int64_t wholes = 0;
  for (const ContainerRequest& asked : request.containers) {
    if (asked.kind == ContainerKind::kInit || is_part(asked.ask)) continue;
    if (is_share(asked.ask)) {
      add_share(asked, shape);
    } else {
      wholes = std::min(wholes + asked.count, kMostGpus);
    }
    if (asked.models.empty()) continue;
    shape.wanted = asked.models.wanted;
    shape.excluded = asked.models.excluded;
  }
  if (wholes > 0) {
    shape.gpus = wholes;
    shape.gpu_milli = kWholeGpu.value;
    shape.gpu_memory = {};
  }
  shape.gpu_milli = std::min(shape.gpu_milli, kWholeGpu.value);
  shape.cpu_milli = std::min(host.cpu_milli, kMostOfPod);
  shape.memory_mib = std::min(host.memory_bytes >> 20, kMostOfPod);
  return shape;
}

}  // namespace snug
