#include "demand/prior.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "snug/base/units.hpp"
#include "snug/demand/fitted.hpp"

namespace snug::demand {

ShapeCounts prior_pods(const Supply& supply) {
  const std::int64_t all_gpus = std::max<std::int64_t>(1, supply.gpus);
  const std::int64_t cpu_milli = supply.cpu_milli / all_gpus / kPriorHostDivisor;
  const std::int64_t memory_mib = supply.memory_mib / all_gpus / kPriorHostDivisor;
  ShapeCounts pods;
  for (const PriorPod& prior : kPriorPods) {
    PodShape shape;
    shape.gpus = prior.gpus;
    shape.gpu_milli = prior.gpu_milli;
    shape.host_cpu_milli = cpu_milli * prior.gpus * prior.gpu_milli / base::kWholeGpu.value;
    shape.host_memory_mib = memory_mib * prior.gpus * prior.gpu_milli / base::kWholeGpu.value;
    pods.emplace(std::move(shape), prior.pods);
  }
  return pods;
}

double prior_weight_after(double pods) { return std::max(0.0, 1 - pods / kPriorFadesOver); }

}  // namespace snug::demand
