// What the container runtime tells a plug-in of the Node Resource Interface (NRI) about a pod and
// its container, and what the plug-in may answer. Plain data; field names follow NRI's api.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/model/node_inventory.hpp"

namespace snug::agent {

/// NVIDIA's runtime gives a container the GPUs in this variable.
inline constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";

struct SandboxView {
  std::string id;
  std::string name;
  std::string uid;
  std::string name_space;
  model::StringMap labels;
  model::StringMap annotations;  // the pod's, as they were when its sandbox was created

  friend bool operator==(const SandboxView&, const SandboxView&) = default;
};

struct MountView {
  std::string source;
  std::string destination;
  std::string type;
  std::vector<std::string> options;

  friend bool operator==(const MountView&, const MountView&) = default;
};

/// A device node in the container's specification.
struct DeviceNodeView {
  std::string path;
  std::string type;  // c or b
  std::int64_t major = 0;
  std::int64_t minor = 0;

  friend bool operator==(const DeviceNodeView&, const DeviceNodeView&) = default;
};

enum class ContainerState : std::uint8_t { kUnknown, kCreated, kPaused, kRunning, kStopped };

struct ContainerView {
  std::string id;
  std::string sandbox_id;
  std::string name;
  ContainerState state = ContainerState::kUnknown;
  model::StringMap annotations;  // its own, with those that earlier plug-ins have added
  std::vector<std::string> env;  // NAME=value, also the image's
  std::vector<MountView> mounts;
  std::vector<DeviceNodeView> devices;
  std::vector<std::string> cdi_devices;  // qualified names, like nvidia.com/gpu=0, from the kubelet
  std::string cgroup_path;

  friend bool operator==(const ContainerView&, const ContainerView&) = default;
};

/// Changes that a plug-in makes to a container when it is created.
struct Adjustment {
  std::vector<std::pair<std::string, std::string>> env;  // replaces variables of the same name
  std::vector<MountView> mounts;
  std::vector<DeviceNodeView> devices;
  std::vector<std::string> cdi_devices;  // qualified names
  /// Only what this plug-in adds; empty in a decoded validation.
  std::vector<std::pair<std::string, std::string>> annotations;

  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

}  // namespace snug::agent
