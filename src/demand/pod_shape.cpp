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
  const std::int64_t memory_milli = std::clamp<std::int64_t>(
      base::kWholeGpu.value * gpu_memory.value / of_gpu.value, 1, base::kWholeGpu.value);
  return std::max(memory_milli, gpu_milli);
}

namespace {

constexpr std::int64_t kMaxGpus = 1'000'000;  // larger counts are reduced to it

/// The MIG profile that the annotation or the resource name contains; empty if there is none.
std::string requested_profile(const model::DeviceRequest& device) {
  if (const auto* slice = std::get_if<model::SliceRequest>(&device)) return slice->profile;
  const auto* units = std::get_if<model::KubeletRequest>(&device);
  if (units == nullptr) return {};
  const std::string_view resource_profile = mig::profile_in_resource(units->resource);
  const std::optional<mig::MigProfileName> name = mig::parse_resource_profile(resource_profile);
  return name ? name->canonical : std::string(resource_profile);
}

/// The sum of the GPU requests of containers that run at the same time.
class ConcurrentContainers {
 public:
  void add(const model::ContainerRequest& container) {
    if (std::string profile = requested_profile(container.device); !profile.empty()) {
      std::int64_t& slices = slices_[std::move(profile)];
      slices = std::min(slices + std::min(container.count, kMaxGpus), kMaxGpus);
      return;
    }
    if (!model::is_share(container.device)) {
      whole_gpus_ = std::min(whole_gpus_ + std::min(container.count, kMaxGpus), kMaxGpus);
      return;
    }
    share_gpus_ = std::max(share_gpus_, std::min(container.count, kMaxGpus));
    if (const auto* memory_request = std::get_if<model::MemoryRequest>(&container.device))
      share_memory_ += memory_request->memory;
    const auto* fraction = std::get_if<model::FractionRequest>(&container.device);
    const std::int64_t compute = container.compute_percent ? 10 * *container.compute_percent : 0;
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
  std::int64_t share_gpus_ = 0;  // the most GPUs on which one container requests shares
  std::int64_t share_milli_ = 0;
  base::MebiBytes share_memory_;
  std::map<std::string, std::int64_t> slices_;  // number of slices by profile
};

}  // namespace

PodShape shape_of(const model::GpuRequest& request, const model::HostResources& host) {
  PodShape shape;
  ConcurrentContainers running;
  for (const model::ContainerRequest& container : request.containers) {
    if (container.type == model::ContainerType::kInit) {
      ConcurrentContainers init_container;
      init_container.add(container);
      init_container.widen(shape);
    } else {
      running.add(container);
    }
    if (container.models.empty()) continue;
    shape.included_models = container.models.included;
    shape.excluded_models = container.models.excluded;
  }
  running.widen(shape);
  shape.host_cpu_milli = std::min(host.cpu_milli, kMaxHostAmount);
  shape.host_memory_mib = std::min(host.memory_bytes >> 20, kMaxHostAmount);
  return shape;
}

}  // namespace snug::demand
