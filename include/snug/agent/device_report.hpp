// What the GPU driver of one node reports: its GPUs, their MIG slices and the links between them.
// adapters/nvml reads it. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/units.hpp"

namespace snug::agent {

/// A MIG profile that a GPU offers. `size` and `starts` are in memory slices of the GPU.
struct MigProfileReport {
  std::string name;  // like 2g.10gb, as NVIDIA's device plug-in names it
  int size = 0;
  base::MebiBytes memory;
  std::vector<int> starts;

  friend bool operator==(const MigProfileReport&, const MigProfileReport&) = default;
};

/// An existing MIG slice: a GPU instance with one compute instance that fills it.
struct MigSliceReport {
  std::string uuid;  // MIG-…
  std::string profile;
  int start = 0;
  int size = 0;
  int gpu_instance =
      0;  // the driver's ids, which name the files in /proc/driver/nvidia/capabilities
  int compute_instance = 0;

  friend bool operator==(const MigSliceReport&, const MigSliceReport&) = default;
};

/// A GPU instance that is no slice that pods can use: it has no compute instance yet, or several,
/// or one that does not fill it, or a profile that the driver does not offer.
struct MigInstanceReport {
  int gpu_instance = 0;
  int start = 0;
  int size = 0;
  bool has_compute_instances = false;

  friend bool operator==(const MigInstanceReport&, const MigInstanceReport&) = default;
};

/// What the driver says would recover a GPU. kUnknown: the driver is too old to say.
enum class Recovery : std::uint8_t {
  kUnknown,
  kNone,  // nothing is wrong
  kResetGpu,
  kDrainAndReset,
  kDrainPeers,
  kRebootNode,
  kOther,
};

struct DeviceReport {
  int index = 0;  // the driver's index, which is in the order of the PCI bus
  std::string uuid;
  std::string model;  // as GPU Feature Discovery writes it: NVIDIA-A100-SXM4-40GB
  base::MebiBytes memory;
  int minor = 0;        // N of /dev/nvidiaN
  std::string pci_bus;  // like 0000:3b:00.0, lower case
  int numa_node = -1;   // -1: unknown
  /// False from the driver: it does not answer for this GPU, and what else stands here is older.
  /// agent/gpu_health adds what events say.
  bool healthy = true;
  std::string ailment;  // why it is not healthy, for people
  Recovery recovery = Recovery::kUnknown;
  bool mig_enabled = false;
  std::vector<MigProfileReport> mig_profiles;
  std::vector<MigSliceReport> mig_slices;         // ascending by start
  std::vector<MigInstanceReport> mig_unfinished;  // ascending by start

  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

struct NodeDevices {
  std::string driver_version;      // empty: there is no driver
  std::vector<DeviceReport> gpus;  // ascending by index
  /// nvlinks[i][j]: the number of active NVLinks between gpus[i] and gpus[j]. Empty: unknown.
  std::vector<std::vector<int>> nvlinks;

  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

}  // namespace snug::agent
