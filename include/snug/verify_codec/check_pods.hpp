// The pods of `snugctl verify`: their manifests, and how far they are as `kubectl get pods --output
// json` shows them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/verify/node_check.hpp"

namespace snug::verify_codec {

/// The label of all pods of the check; its value is that of one run.
inline constexpr const char* kRunLabel = "snug.dev/verify";
inline constexpr const char* kSharePod = "share";
inline constexpr const char* kGreedyPod = "greedy";
inline constexpr const char* kCdiPod = "cdi";
inline constexpr const char* kToolkitsCdiPod = "toolkits-cdi";

/// What the pods have in common.
struct CheckSettings {
  std::string run;  // eight hexadecimal digits, in the names of the pods
  std::string node;
  std::string name_space;
  std::string image;
  std::string scheduler;             // of the pod with a share; empty: not set
  std::int64_t memory_mib = 0;       // its request
  std::string isolation;             // its gpu-isolation; empty: not set
  std::int64_t allocate_mib = 0;     // what it tries to allocate; 0: nothing
  std::optional<std::int64_t> user;  // nullopt: that of the image
  std::int64_t seconds_to_live = 0;  // after which the kubelet ends the pods
};

/// snug-verify-RUN-KIND
[[nodiscard]] std::string pod_name(const CheckSettings& settings, std::string_view kind);
/// The manifest of one of the pods above, as JSON. Only the one with a share is scheduled.
[[nodiscard]] std::string write_check_pod(const CheckSettings& settings, std::string_view kind);

/// How far a pod is.
struct PodProgress {
  std::string name;
  bool is_final = false;     // `result` will not change
  verify::PodResult result;  // what it is if nothing more happens
};
/// Reads a list of these pods.
[[nodiscard]] base::Result<std::vector<PodProgress>> read_check_pods(std::string_view json);

}  // namespace snug::verify_codec
