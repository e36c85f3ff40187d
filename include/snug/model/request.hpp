// What a pod requests, as request/pod_request_parser reads it. Quantities that depend on the GPU,
// such as a fraction of its memory, are kept as written; fit/charge converts them to MiB and
// milli-GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/model/pod.hpp"

namespace snug::model {

/// `gpu-fraction: 0.25`: thousandths of one GPU's memory and compute, 1..999.
struct FractionRequest {
  int thousandths = 0;
  friend bool operator==(const FractionRequest&, const FractionRequest&) = default;
};

/// `gpu-memory: 4G`: MiB on one GPU, compute in proportion.
struct MemoryRequest {
  base::MebiBytes memory;
  friend bool operator==(const MemoryRequest&, const MemoryRequest&) = default;
};

/// `gpu-fraction: 2`: whole GPUs, chosen by Snug.
struct WholeGpuRequest {
  friend bool operator==(const WholeGpuRequest&, const WholeGpuRequest&) = default;
};

/// `gpu-mig-profile: 2g.10gb`.
struct SliceRequest {
  std::string profile;
  friend bool operator==(const SliceRequest&, const SliceRequest&) = default;
};

/// Extended resources of NVIDIA's device plug-in: GPUs, or replicas of them. It uses the second
/// name where it renames replicas.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kSharedResource = "nvidia.com/gpu.shared";

/// `nvidia.com/gpu: 2` in a container's limits: units whose devices the kubelet chooses.
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

/// `gpu-isolation`: the mechanism that must isolate pods on one GPU.
enum class Isolation : std::uint8_t { kAny, kTimeSlicing, kMps, kMig };

struct ContainerRequest {
  std::string container;
  ContainerType type = ContainerType::kApp;
  DeviceRequest device;
  std::int64_t count = 1;              // number of different GPUs, each with the ask, or of units
  std::optional<int> compute_percent;  // `gpu-compute`, 1..100: overrides what the ask implies
  Isolation isolation = Isolation::kAny;
  ModelFilter models;
  std::string text;  // as the pod states it: `gpu-fraction=0.25`, `gpu-memory=4G;gpu-count=2`

  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

/// All containers are either annotated (Snug assigns) or kubelet-assigned: a pod never mixes them.
struct GpuRequest {
  std::vector<ContainerRequest> containers;  // in the pod's order, init containers first
  std::string main_container;                // receives the unsuffixed flat annotations
  std::string policy;                        // `gpu-policy`; empty: the operator's rules choose

  [[nodiscard]] bool empty() const { return containers.empty(); }
  [[nodiscard]] bool is_kubelet_assigned() const {
    return !containers.empty() && std::holds_alternative<KubeletRequest>(containers.front().device);
  }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

/// A container's name and its request's text.
using RequestText = std::pair<std::string_view, std::string_view>;

/// `gpu-fraction=0.25` for one container, `a: gpu-fraction=0.25; b: …` for several.
[[nodiscard]] std::string to_text(std::span<const RequestText> requests);
[[nodiscard]] std::string to_text(const GpuRequest& request);

}  // namespace snug::model
