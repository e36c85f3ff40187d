// What snug-observe has seen in its container: the device nodes of NVIDIA's driver, variables,
// libraries, and what CUDA says. Plain data; memory is in MiB.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace snug::verify {

/// A device node in the container.
struct SeenNode {
  std::string name;     // below /dev: nvidia0, nvidia-caps/nvidia-cap3
  bool denied = false;  // the device cgroup or the mode of the node refuses it
};

/// What CUDA's driver library says.
struct SeenCuda {
  std::string library;         // the path of libcuda.so.1; empty: it could not be loaded
  std::string problem;         // the call that failed first, or why the library cannot be loaded
  std::int64_t devices = 0;    // their number
  std::string uuid;            // of device 0, without `GPU-` or `MIG-`; empty: unknown
  std::int64_t total_mib = 0;  // memory of device 0; 0: unknown
};

/// An attempt to allocate memory of device 0.
struct SeenAllocation {
  std::int64_t wanted_mib = 0;  // 0: not tried
  std::int64_t got_mib = 0;     // allocated before the first failure
  bool out_of_memory = false;   // that failure, if there was one
};

struct Observation {
  std::vector<SeenNode> nodes;
  std::map<std::string, std::string> variables;  // those of NVIDIA, CUDA and HAMi-core
  SeenCuda cuda;
  SeenAllocation allocation;
};

}  // namespace snug::verify
