#include "snug/demand/shape.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "snug/mig/catalog.hpp"

namespace snug {

std::int64_t PodShape::milli_each(MebiBytes of_gpu) const {
  if (gpu_memory.value == 0 || of_gpu.value <= 0) return gpu_milli;
  const std::int64_t part = std::clamp<std::int64_t>(
      kWholeGpu.value * gpu_memory.value / of_gpu.value, 1, kWholeGpu.value);
  return std::max(part, gpu_milli);
}

namespace {

constexpr std::int64_t kMostGpus = 1'000'000;  // a bound, as kMostOfHost

/// The MIG profile that an annotation or a resource name names; empty: none.
std::string profile_of(const Ask& ask) {
  if (const auto* slice = std::get_if<SliceAsk>(&ask)) return slice->profile;
  const auto* units = std::get_if<KubeletAsk>(&ask);
  if (units == nullptr) return {};
  const std::string_view part = profile_part(units->resource);
  const std::optional<MigName> name = parse_profile_part(part);
  return name ? name->name : std::string(part);
}

/// What containers that run at the same time ask for.
class Together {
 public:
  void add(const ContainerRequest& asked) {
    if (std::string profile = profile_of(asked.ask); !profile.empty()) {
      std::int64_t& slices = slices_[std::move(profile)];
      slices = std::min(slices + std::min(asked.count, kMostGpus), kMostGpus);
      return;
    }
    if (!is_share(asked.ask)) {
      wholes_ = std::min(wholes_ + std::min(asked.count, kMostGpus), kMostGpus);
      return;
    }
    gpus_ = std::max(gpus_, std::min(asked.count, kMostGpus));
    if (const auto* of = std::get_if<MemoryAsk>(&asked.ask)) memory_ += of->memory;
    const auto* fraction = std::get_if<FractionAsk>(&asked.ask);
    const std::int64_t compute = asked.compute_percent ? 10 * *asked.compute_percent : 0;
    milli_ += std::max<std::int64_t>(compute, fraction == nullptr ? 0 : fraction->thousandths);
  }

  void widen(PodShape& shape) const {
    const bool whole = wholes_ > 0;
    const std::int64_t gpus = whole ? wholes_ : gpus_;
    const std::int64_t milli = whole ? kWholeGpu.value : std::min(milli_, kWholeGpu.value);
    const MebiBytes memory = whole ? MebiBytes{} : memory_;
    for (const auto& [profile, slices] : slices_) {
      if (slices <= shape.slices) continue;
      shape.slices = slices;
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
  std::int64_t wholes_ = 0;
  std::int64_t gpus_ = 0;  // for the shares
  std::int64_t milli_ = 0;
  MebiBytes memory_;
  std::map<std::string, std::int64_t> slices_;  // by profile
};

}  // namespace

PodShape shape_of(const GpuRequest& request, const HostAmounts& host) {
  PodShape shape;
  Together running;
  for (const ContainerRequest& asked : request.containers) {
    if (asked.kind == ContainerKind::kInit) {
      Together alone;
      alone.add(asked);
      alone.widen(shape);
    } else {
      running.add(asked);
    }
    if (asked.models.empty()) continue;
    shape.wanted = asked.models.wanted;
    shape.excluded = asked.models.excluded;
  }
  running.widen(shape);
  shape.cpu_milli = std::min(host.cpu_milli, kMostOfHost);
  shape.memory_mib = std::min(host.memory_bytes >> 20, kMostOfHost);
  return shape;
}

}  // namespace snug
