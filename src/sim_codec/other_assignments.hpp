// What the nodes of other systems say about their GPUs, and which GPUs those systems have assigned
// to pods.
#pragma once

#include <string_view>
#include <vector>

#include "sim_codec/cluster_objects.hpp"
#include "sim_codec/other_systems.hpp"

namespace snug::sim_codec {

inline constexpr std::string_view kHamiRegister = "hami.io/node-nvidia-register";
inline constexpr std::string_view kGpushareMemory = "aliyun.com/gpu-mem";
inline constexpr std::string_view kGpushareCount = "aliyun.com/gpu-count";

/// Returns what the pod's annotations say that its containers got; empty if they say nothing, or
/// nothing that can be read.
[[nodiscard]] std::vector<model::ReservedContainer> assigned_by_other_system(
    const PodObject& object, const SystemsInUse& systems);

}  // namespace snug::sim_codec
