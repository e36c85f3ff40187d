// What a pod that requests GPUs by annotation gets when it is created: the table from which
// codec/admission_policies generates the policies, and which the webhook reads (pod_additions).
// What the pod already has stays as it is, except for the default scheduler and for amounts of
// mirrored resources. Plain data.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace snug::admission {

/// Annotations of a bound pod that contain its reservation in the form of environment variables.
/// With the suffix `.<container>` they describe one container.
inline constexpr std::string_view kVisibleDevicesKey = "snug.dev/visible-devices";
inline constexpr std::string_view kMemoryLimitKey = "snug.dev/memory-limit";
inline constexpr std::string_view kComputePercentKey = "snug.dev/compute-percent";

/// A variable whose value the kubelet takes from an annotation (the downward API).
struct DownwardVariable {
  std::string_view name;
  std::string_view annotation;  // without the suffix
};

/// The variables of each container that requests GPUs. If an annotation is absent, its variable is
/// empty.
inline constexpr std::array kDownwardVariables{
    DownwardVariable{"NVIDIA_VISIBLE_DEVICES", kVisibleDevicesKey},
    DownwardVariable{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", kMemoryLimitKey},
    DownwardVariable{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", kComputePercentKey}};

/// The API server gives every pod that names no scheduler this one.
inline constexpr std::string_view kDefaultScheduler = "default-scheduler";

/// What the operator can choose.
struct PodDefaults {
  std::string scheduler = "snug";  // replaces kDefaultScheduler; if empty, nothing is replaced
  std::vector<std::string> tolerations = {"nvidia.com/gpu", "snug.dev/only"};  // keys of taints
  std::string runtime_class;  // for pods that name none; if empty, none is set
};

}  // namespace snug::admission
