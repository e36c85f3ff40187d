// The GPUs of this node, as NVIDIA's management library (NVML) reports them. The library is loaded
// when it is first needed; without it the node has no driver.
//
// One GPU that fails does not hide the others: it is reported with its last known data and as not
// healthy, or is left out if it was never read. After an error that means that the driver, or a
// GPU, is gone, the next read() closes the library and opens it anew, since the library notices a
// driver that was restarted, or a GPU that was reset or removed, only then. For a GPU that stays
// lost this is repeated after `reopen_after`.
//
// Thread-safety: as DevicePort demands: one thread reads, another may wait for events. Errors:
// kUnavailable, with what NVML said.
#pragma once

#include <chrono>
#include <memory>
#include <string>
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

class NvmlDevices final : public agent_service::DevicePort {
 public:
  explicit NvmlDevices(NvmlOptions options);
  ~NvmlDevices() override;
  NvmlDevices(const NvmlDevices&) = delete;
  NvmlDevices& operator=(const NvmlDevices&) = delete;

  [[nodiscard]] base::Result<agent::NodeDevices> read() override;
  /// An event without uuid and XID: the driver or a GPU is gone; read() says which.
  [[nodiscard]] base::Result<std::optional<agent_service::DeviceEvent>> wait_for_event(
      std::chrono::milliseconds timeout) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::nvml
