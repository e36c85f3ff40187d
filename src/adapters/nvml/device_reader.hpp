// Reads one GPU, or the links between GPUs, by an initialised management library. Stateless.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "adapters/nvml/nvml_abi.hpp"
#include "snug/agent/device_report.hpp"

namespace snug::nvml {

/// All about the GPU but its index and links; mig_reader reads the slices. `pci_devices`: see
/// NvmlOptions. Fails if NVML does not say what every GPU has; what only some have is left out.
[[nodiscard]] std::expected<agent::DeviceReport, abi::Status> read_device(
    const abi::Functions& nvml, abi::Device device, const std::string& pci_devices);

[[nodiscard]] std::expected<std::string, abi::Status> read_uuid(const abi::Functions& nvml,
                                                                abi::Device device);

/// Of the whole GPU.
[[nodiscard]] std::expected<base::MebiBytes, abi::Status> read_memory(const abi::Functions& nvml,
                                                                      abi::Device device);

struct UsagePercent {
  int memory_percent = 0;
  int compute_percent = 0;  // 0 if the GPU does not say, as in MIG mode
};
[[nodiscard]] std::expected<UsagePercent, abi::Status> read_usage(const abi::Functions& nvml,
                                                                  abi::Device device);

/// A GPU for read_nvlinks(); without handle (null) it has no links.
struct LinkedGpu {
  abi::Device device = nullptr;
  std::string pci_bus;
};
/// The active NVLinks between the GPUs, symmetric. GPUs that are linked to NVSwitches reach each
/// other over as many links as the one with fewer has. Empty if the driver cannot say.
[[nodiscard]] std::vector<std::vector<int>> read_nvlinks(const abi::Functions& nvml,
                                                         const std::vector<LinkedGpu>& gpus);

/// Whether the status means that this GPU does not answer until the library is opened anew.
[[nodiscard]] bool is_lost(abi::Status status);
/// Whether it means that the driver does not answer at all until then.
[[nodiscard]] bool is_driver_gone(abi::Status status);
/// Either.
[[nodiscard]] bool is_gone(abi::Status status);

}  // namespace snug::nvml
