#include "snug/demand/pod_shape.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "snug/mig/card_catalog.hpp"

namespace snug::demand {

std::int64_t PodShape::milli_per_gpu(base::MebiBytes of_gpu) const {
  if (gpu_memory.value == 0 || of_gpu.value <= 0) return gpu_milli;
  const std::int64_t part = std::clamp<std::int64_t>(
      base::kWholeGpu.value * gpu_memory.value / of_gpu.value, 1, base::kWholeGpu.value);
  return std::max(part, gpu_milli);
}

namespace {

constexpr std::int64_t kMaxGpus = 1'000'000;  // larger counts are reduced to it

/// The MIG profile that the annotation or the resource name contains; empty if there is none.
std::string requested_profile(const model::DeviceRequest& device) {
  if (const auto* slice = std::get_if<model::SliceRequest>(&device)) return slice->profile;
  const auto* units = std::get_if<model::KubeletRequest>(&device);
  if (units == nullptr) return {};
  const std::string_view part = mig::profile_in_resource(units->resource);
  const std::optional<mig::MigProfileName> name = mig::parse_resource_profile(part);
  return name ? name->canonical : std::string(part);
}

/// The sum of the GPU requests of containers that run at the same time.
class ConcurrentContainers {
 public:
  void add(const model::ContainerRequest& asked) {
    if (std::string profile = requested_profile(asked.device); !profile.empty()) {
      std::int64_t& slices = slices_[std::move(profile)];
      slices = std::min(slices + std::min(asked.count, kMaxGpus), kMaxGpus);
      return;
    }
    if (!model::is_share(asked.device)) {
      whole_gpus_ = std::min(whole_gpus_ + std::min(asked.count, kMaxGpus), kMaxGpus);
      return;
    }
    share_gpus_ = std::max(share_gpus_, std::min(asked.count, kMaxGpus));
    if (const auto* of = std::get_if<model::MemoryRequest>(&asked.device))
      share_memory_ += of->memory;
    const auto* fraction = std::get_if<model::FractionRequest>(&asked.device);
    const std::int64_t compute = asked.compute_percent ? 10 * *asked.compute_percent : 0;
    share_milli_ +=
        std::max<std::int64_t>(compute, fraction == nullptr ? 0 : fraction->thousandths);
  }

  void widen(PodShape& shape) const {
    const bool whole = whole_gpus_ > 0;
    const std::int64_t gpus = whole ? whole_gpus_ : share_gpus_;
    const std::int64_t milli =
        whole ? base::kWholeGpu.value : std::min(share_milli_, base::kWholeGpu.value);
    const base::MebiBytes memory = whole ? base::MebiBytes{} : share_memory_;
    for (const auto& [profile, slices] : slices_) {
      if (slices <= shape.slice_count) continue;
      shape.slice_count = slices;
      shape.mig_profile = profile;
    }
    if (gpus == shape.gpus) {
      shape.gpu_milli = std::max(shape.gpu_milli, milli);
      shape.gpu_memory = std::max(shape.gpu_memory, memory);
    } else if (std::pair(gpus * milli, gpus) >
               std::pair(shape.gpus * shape.gpu_milli, shape.gpus)) {
      shape.gpus = gpus;
      shape.gpu_milli = milli;
      shape.gpu_memory = memory;
    }
  }

 private:
  std::int64_t whole_gpus_ = 0;
  std::int64_t share_gpus_ = 0;  // largest number of GPUs of one container with shares
  std::int64_t share_milli_ = 0;
  base::MebiBytes share_memory_;
  std::map<std::string, std::int64_t> slices_;  // number of slices by profile
};

}  // namespace

PodShape shape_of(const model::GpuRequest& request, const model::HostResources& host) {
  PodShape shape;
  ConcurrentContainers running;
  for (const model::ContainerRequest& asked : request.containers) {
    if (asked.type == model::ContainerType::kInit) {
      ConcurrentContainers alone;
      alone.add(asked);
      alone.widen(shape);
    } else {
      running.add(asked);
    }
    if (asked.models.empty()) continue;
    shape.included_models = asked.models.included;
    shape.excluded_models = asked.models.excluded;
  }
  running.widen(shape);
  shape.host_cpu_milli = std::min(host.cpu_milli, kMaxHostAmount);
  shape.host_memory_mib = std::min(host.memory_bytes >> 20, kMaxHostAmount);
  return shape;
}

}  // namespace snug::demand
