// The files of the GPU driver on the host that a container needs: libraries, programs and device
// nodes. adapters/host finds them. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug::agent {

/// A library or program that is mounted into containers.
struct DriverFile {
  std::string host_path;  // the file itself, without symbolic links
  std::string name;       // its name in the container, like libcuda.so.1

  friend bool operator==(const DriverFile&, const DriverFile&) = default;
};

/// A device node on the host.
struct DriverNode {
  std::string path;  // in the container, like /dev/nvidia0
  std::string host_path;
  std::int64_t major = 0;
  std::int64_t minor = 0;

  friend bool operator==(const DriverNode&, const DriverNode&) = default;
};

/// The device node in /dev/nvidia-caps that gives access to a GPU or compute instance.
struct CapabilityNode {
  int gpu_minor = 0;
  int gpu_instance = 0;
  int compute_instance = -1;  // -1: the node of the GPU instance
  DriverNode node;

  friend bool operator==(const CapabilityNode&, const CapabilityNode&) = default;
};

struct DriverFiles {
  std::vector<DriverFile> libraries;
  std::vector<DriverFile> programs;
  std::vector<DriverNode> gpu_nodes;      // /dev/nvidiaN
  std::vector<DriverNode> control_nodes;  // /dev/nvidiactl, /dev/nvidia-uvm, …
  std::vector<CapabilityNode> capability_nodes;

  friend bool operator==(const DriverFiles&, const DriverFiles&) = default;
};

}  // namespace snug::agent
