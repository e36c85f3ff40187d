// How other systems that share GPUs name what a pod requests, from their own documentation and
// code. near_misses says that Snug does not read these names, and sim_codec translates them.
// Constant.
#pragma once

#include <array>
#include <string_view>

namespace snug::request {

/// A system whose pods request shares by resources of their containers. An empty name: the system
/// has no such resource.
struct ResourceForm {
  std::string_view system;
  std::string_view count;       // GPUs; default: 1
  std::string_view memory;      // on each GPU, in MiB (or in the units of gpushare)
  std::string_view percentage;  // the same, in % of the GPU's memory
  std::string_view compute;     // on each GPU, in % of its compute
};

inline constexpr auto kResourceForms = std::to_array<ResourceForm>(
    {{"HAMi", "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage",
      "nvidia.com/gpucores"},
     {"vgpu-manager", "nvidia.com/vgpu-number", "nvidia.com/vgpu-memory", "",
      "nvidia.com/vgpu-cores"},
     {"Volcano", "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory",
      "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"},
     {"gpushare", "", "aliyun.com/gpu-mem", "", ""},
     {"Koordinator", "", "", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu-core"}});
/// Its count is the resource that Snug reads too.
inline constexpr const ResourceForm& kHami = kResourceForms[0];
inline constexpr const ResourceForm& kGpushare = kResourceForms[3];

/// The beginning of the annotations of KAI Scheduler's NvFractions:
/// `nvidia.com/container.<name>.gpu-memory.request`.
inline constexpr std::string_view kKaiContainerPrefix = "nvidia.com/container.";

}  // namespace snug::request
