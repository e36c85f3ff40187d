// A pod's GPU request, as request/pod_request_parser parses it. Fractions of a GPU are not
// converted here, because the result depends on the GPU; fit/charge converts them to MiB and
// milli-GPU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "snug/base/enum_names.hpp"
#include "snug/base/units.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/model/pod.hpp"

namespace snug::model {

/// `gpu-fraction: 0.25`: thousandths of one GPU's memory and compute, 1..999.
struct FractionRequest {
  int thousandths = 0;
  friend bool operator==(const FractionRequest&, const FractionRequest&) = default;
};

/// `gpu-memory: 4G`: an amount of memory of one GPU, and the same fraction of its compute.
struct MemoryRequest {
  base::MebiBytes memory;
  friend bool operator==(const MemoryRequest&, const MemoryRequest&) = default;
};

/// `gpu-fraction: 2`: whole GPUs, which Snug chooses. ContainerRequest::count has their number.
struct WholeGpuRequest {
  friend bool operator==(const WholeGpuRequest&, const WholeGpuRequest&) = default;
};

/// `gpu-mig-profile: 2g.10gb`: a MIG slice of this profile.
struct SliceRequest {
  std::string profile;
  friend bool operator==(const SliceRequest&, const SliceRequest&) = default;
};

/// Resources of NVIDIA's device plug-in that stand for GPUs or replicas of GPUs. The device plug-in
/// uses the second name if it is configured to rename replicas.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kSharedResource = "nvidia.com/gpu.shared";

/// `nvidia.com/gpu: 2` in a container's limits: units of a resource. The kubelet chooses the
/// devices.
struct KubeletRequest {
  std::string resource;
  friend bool operator==(const KubeletRequest&, const KubeletRequest&) = default;
};

using DeviceRequest =
    std::variant<FractionRequest, MemoryRequest, WholeGpuRequest, SliceRequest, KubeletRequest>;

[[nodiscard]] inline bool is_share(const DeviceRequest& device) {
  return std::holds_alternative<FractionRequest>(device) ||
         std::holds_alternative<MemoryRequest>(device);
}

/// `gpu-isolation`: the mechanism that must isolate the pods that share a GPU.
enum class Isolation : std::uint8_t { kAny, kTimeSlicing, kMps, kMig };
inline constexpr base::EnumNames kIsolationNames{std::array{
    base::EnumName{Isolation::kAny, "any"}, base::EnumName{Isolation::kTimeSlicing, "time-slicing"},
    base::EnumName{Isolation::kMps, "mps"}, base::EnumName{Isolation::kMig, "mig"}}};

struct ContainerRequest {
  std::string container;
  ContainerType type = ContainerType::kApp;
  DeviceRequest device;
  /// The container gets `device` on each of `count` different GPUs. For a KubeletRequest, `count`
  /// is the number of units.
  std::int64_t count = 1;
  std::optional<int> compute_percent;  // `gpu-compute`, 1..100; nullopt: follows from `device`
  Isolation isolation = Isolation::kAny;
  ModelFilter models;
  std::string text;  // the request as text: `gpu-fraction=0.25`, `gpu-memory=4G;gpu-count=2`

  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

/// The containers of a pod that request GPUs. Either Snug or the kubelet assigns the devices of all
/// of them.
struct GpuRequest {
  std::vector<ContainerRequest> containers;  // in the pod's order, init containers first
  std::string main_container;  // annotations without a container suffix describe its GPUs
  std::string policy;          // `gpu-policy`; if empty, the operator's rules choose

  [[nodiscard]] bool empty() const { return containers.empty(); }
  [[nodiscard]] bool is_kubelet_assigned() const {
    return !containers.empty() && std::holds_alternative<KubeletRequest>(containers.front().device);
  }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

/// The name of a container and its ContainerRequest::text.
using RequestText = std::pair<std::string_view, std::string_view>;

/// Joins the texts: `gpu-fraction=0.25` for one container, `a: gpu-fraction=0.25; b: …` for
/// several.
[[nodiscard]] std::string to_text(std::span<const RequestText> requests);
[[nodiscard]] std::string to_text(const GpuRequest& request);

}  // namespace snug::model
