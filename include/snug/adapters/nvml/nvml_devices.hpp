// The GPUs of this node, as NVIDIA's management library (NVML) reports them. The library is loaded
// when it is first needed; without it the node has no driver.
//
// One GPU that fails does not hide the others: it is reported with its last known data and as not
// healthy, or is left out if it was never read. After an error that means that the driver, or a
// GPU, is gone, the next read() closes the library and opens it anew, since the library notices a
// driver that was restarted, or a GPU that was reset or removed, only then. For a GPU that stays
// lost this is repeated after `reopen_after`.
//
// Slices, limits and usage are for a driver that read() reached: before that, and after a read that
// failed, slices and limits are kUnavailable, and the usage is empty.
//
// Thread-safety: one thread reads GPUs and usage and makes slices, another may wait for events;
// limit_memory() and can_limit() are thread-safe. Errors, with what NVML said: kUnavailable: the
// driver or the GPU does not answer. kNotFound: there is no such GPU or cgroup. kConflict: another
// MIG instance or a process is in the way, MIG mode is off, or the driver does not say which
// processes there are. kInvalid: the GPU has no such profile or start, or cannot limit memory so.
// kInternal: else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent_service/ports.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::nvml {

struct NvmlOptions {
  /// Tried in this order whenever the library is opened: a driver may be installed later.
  std::vector<std::string> libraries{"libnvidia-ml.so.1"};
  std::string pci_devices = "/sys/bus/pci/devices";  // where the kernel shows the NUMA nodes
  std::chrono::milliseconds reopen_after{base::agent_limits::driver_reopen_ms};
};

class NvmlDevices final : public agent_service::DevicePort,
                          public agent_service::SlicePort,
                          public agent_service::MemoryLimitPort,
                          public agent_service::UsagePort {
 public:
  explicit NvmlDevices(NvmlOptions options);
  ~NvmlDevices() override;
  NvmlDevices(const NvmlDevices&) = delete;
  NvmlDevices& operator=(const NvmlDevices&) = delete;

  [[nodiscard]] base::Result<agent::NodeDevices> read() override;
  /// An event without uuid and XID: the driver or a GPU is gone; read() says which.
  [[nodiscard]] base::Result<std::optional<agent_service::DeviceEvent>> wait_for_event(
      std::chrono::milliseconds timeout) override;
  /// Empty before read() has reached the driver. In MIG mode NVML does not say how busy a GPU is;
  /// its compute counts as 0 then.
  [[nodiscard]] base::Result<std::vector<agent_service::DeviceUsage>> read_usage() override;

  [[nodiscard]] base::Result<void> create_slice(std::string_view gpu_uuid, std::string_view profile,
                                                int start) override;
  /// If a process begins meanwhile, some of several compute instances may be destroyed.
  [[nodiscard]] base::Result<void> destroy_instance(std::string_view gpu_uuid,
                                                    int gpu_instance) override;

  /// Whether the driver has the function, or had it before it was closed to be opened anew. It may
  /// still refuse a GPU, such as one in MIG mode.
  [[nodiscard]] bool can_limit() override;
  [[nodiscard]] std::uint64_t openings() override;
  /// `cgroup_path`: its folder in the file system of the agent. The driver also reserves the memory
  /// for the cgroup.
  [[nodiscard]] base::Result<void> limit_memory(std::string_view gpu_uuid,
                                                std::string_view cgroup_path,
                                                base::MebiBytes limit) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::nvml
