// What a pod requests, as request/parse reads it. Quantities that depend on the GPU, such as a
// fraction of its memory, are kept as written; fit/charge converts them to MiB and milli-GPU.
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
#include "snug/model/glob.hpp"
#include "snug/model/pod.hpp"

namespace snug {

/// `gpu-fraction: 0.25`: thousandths of one GPU's memory and compute, 1..999.
struct FractionAsk {
  int thousandths = 0;
  friend bool operator==(const FractionAsk&, const FractionAsk&) = default;
};

/// `gpu-memory: 4G`: MiB on one GPU, compute in proportion.
struct MemoryAsk {
  MebiBytes memory;
  friend bool operator==(const MemoryAsk&, const MemoryAsk&) = default;
};

/// `gpu-fraction: 2`: whole GPUs, chosen by Snug.
struct WholeAsk {
  friend bool operator==(const WholeAsk&, const WholeAsk&) = default;
};

/// `gpu-mig-profile: 2g.10gb`.
struct SliceAsk {
  std::string profile;
  friend bool operator==(const SliceAsk&, const SliceAsk&) = default;
};

/// Extended resources of NVIDIA's device plug-in: GPUs, or replicas of them. It uses the second name
/// where it renames replicas.
inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kSharedResource = "nvidia.com/gpu.shared";

/// `nvidia.com/gpu: 2` in a container's limits: units whose devices the kubelet chooses.
struct KubeletAsk {
  std::string resource;
  friend bool operator==(const KubeletAsk&, const KubeletAsk&) = default;
};

using Ask = std::variant<FractionAsk, MemoryAsk, WholeAsk, SliceAsk, KubeletAsk>;

[[nodiscard]] inline bool is_share(const Ask& ask) {
  return std::holds_alternative<FractionAsk>(ask) || std::holds_alternative<MemoryAsk>(ask);
}

/// `gpu-isolation`: the mechanism that must isolate pods on one GPU.
enum class Isolation : std::uint8_t { kAny, kTimeSlicing, kMps, kMig };

struct ContainerRequest {
  std::string container;
  ContainerKind kind = ContainerKind::kApp;
  Ask ask;
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
  [[nodiscard]] bool kubelet_assigned() const {
    return !containers.empty() && std::holds_alternative<KubeletAsk>(containers.front().ask);
  }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

/// A container's name and its request's text.
using RequestText = std::pair<std::string_view, std::string_view>;

/// `gpu-fraction=0.25` for one container, `a: gpu-fraction=0.25; b: …` for several.
[[nodiscard]] std::string to_text(std::span<const RequestText> requests);
[[nodiscard]] std::string to_text(const GpuRequest& request);

}  // namespace snug
