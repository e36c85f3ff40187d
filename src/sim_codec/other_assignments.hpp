// What the nodes of other systems say about their GPUs, and which GPUs those systems have assigned
// to pods.
#pragma once

#include <string_view>
#include <vector>

#include "sim_codec/cluster_objects.hpp"
#include "sim_codec/other_systems.hpp"
#include "snug/request/other_systems.hpp"

namespace snug::sim_codec {

inline constexpr std::string_view kHamiRegister = "hami.io/node-nvidia-register";
inline constexpr std::string_view kGpushareMemory = request::kGpushare.memory;
inline constexpr std::string_view kGpushareCount = "aliyun.com/gpu-count";

/// What the annotations of the pod say that its containers got.
[[nodiscard]] OtherAssignment assigned_by_other_system(const PodObject& object,
                                                       const SystemsInUse& systems);

}  // namespace snug::sim_codec
