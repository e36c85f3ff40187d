#include "adapters/nvml/device_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>

#include "adapters/nvml/mig_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;

constexpr unsigned long long kMebi = 1024ULL * 1024;

/// The text that `function` gives for the device.
template <std::size_t Size>
std::expected<std::string, Status> read_text(Status (*function)(abi::Device, char*, unsigned),
                                             abi::Device device) {
  std::array<char, Size> text{};
  const Status status = abi::call(function, device, text.data(), static_cast<unsigned>(Size));
  if (status != Status::kSuccess) return std::unexpected(status);
  text.back() = '\0';
  return std::string(text.data());
}

/// The model as GPU Feature Discovery writes it into the label nvidia.com/gpu.product.
std::string label_form(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// `00000000:3B:00.0` as the kernel writes it: `0000:3b:00.0`.
std::string kernel_form(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const bool has_long_domain = bus_id.find(':') == 8 && bus_id.starts_with("0000");
  return has_long_domain ? bus_id.substr(4) : bus_id;
}

std::expected<std::string, Status> read_bus(const abi::Functions& nvml, abi::Device device) {
  abi::PciInfo pci{};
  const Status status = abi::call(nvml.nvmlDeviceGetPciInfo_v3, device, &pci);
  if (status != Status::kSuccess) return std::unexpected(status);
  std::ranges::end(pci.bus_id)[-1] = '\0';
  return kernel_form(pci.bus_id);
}

/// Of the whole GPU, in bytes.
std::expected<abi::Memory, Status> read_bytes(const abi::Functions& nvml, abi::Device device) {
  abi::Memory2 memory{.version = abi::struct_version<abi::Memory2>(2)};
  abi::Memory plain{};
  Status status = abi::call(nvml.nvmlDeviceGetMemoryInfo_v2, device, &memory);
  if (status == Status::kFunctionNotFound || status == Status::kArgumentVersionMismatch) {
    status = abi::call(nvml.nvmlDeviceGetMemoryInfo, device, &plain);
  } else {
    plain = {.total = memory.total, .free = memory.free, .used = memory.used};
  }
  if (status != Status::kSuccess) return std::unexpected(status);
  return plain;
}

/// NVML's own function for this is about GPUs that are NUMA nodes themselves.
int read_numa_node(const std::string& pci_devices, const std::string& bus) {
  std::ifstream file(pci_devices + "/" + bus + "/numa_node");
  int node = -1;
  file >> node;
  return file ? node : -1;
}

agent::Recovery read_recovery(const abi::Functions& nvml, abi::Device device) {
  abi::FieldValue field{.field = abi::kRecoveryActionField};
  const Status status = abi::call(nvml.nvmlDeviceGetFieldValues, device, 1, &field);
  const bool known = status == Status::kSuccess && field.status == Status::kSuccess &&
                     field.value_type == abi::kUnsignedIntValue;
  if (!known) return agent::Recovery::kUnknown;
  switch (static_cast<abi::RecoveryAction>(field.value.as_unsigned)) {
    case abi::RecoveryAction::kNone:
      return agent::Recovery::kNone;
    case abi::RecoveryAction::kResetGpu:
      return agent::Recovery::kResetGpu;
    case abi::RecoveryAction::kDrainAndReset:
      return agent::Recovery::kDrainAndReset;
    case abi::RecoveryAction::kDrainPeers:
      return agent::Recovery::kDrainPeers;
    case abi::RecoveryAction::kRebootNode:
    case abi::RecoveryAction::kRebootSystem:
      return agent::Recovery::kRebootNode;
    default:
      return agent::Recovery::kOther;
  }
}

/// The active links of one GPU: to each other GPU of the list, and to switches.
struct LinkCounts {
  std::vector<int> to_gpus;
  int to_switches = 0;
};

LinkCounts count_links(const abi::Functions& nvml, abi::Device device,
                       const std::vector<LinkedGpu>& gpus) {
  LinkCounts counts{.to_gpus = std::vector<int>(gpus.size(), 0)};
  for (unsigned link = 0; device != nullptr && link < abi::kMaxNvLinks; ++link) {
    unsigned active = 0;
    const Status status = abi::call(nvml.nvmlDeviceGetNvLinkState, device, link, &active);
    if (status == Status::kNotSupported || is_lost(status)) break;  // it has no NVLinks
    if (status != Status::kSuccess || active != abi::kLinkActive) continue;
    unsigned type = abi::kRemoteIsGpu;
    (void)abi::call(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, device, link, &type);
    if (type == abi::kRemoteIsSwitch) {
      ++counts.to_switches;
      continue;
    }
    abi::PciInfo pci{};
    if (abi::call(nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link, &pci) != Status::kSuccess)
      continue;
    std::ranges::end(pci.bus_id)[-1] = '\0';
    const auto remote = std::ranges::find(gpus, kernel_form(pci.bus_id), &LinkedGpu::pci_bus);
    if (remote != gpus.end()) ++counts.to_gpus[static_cast<std::size_t>(remote - gpus.begin())];
  }
  return counts;
}

}  // namespace

bool is_driver_gone(Status status) {
  return status == Status::kUninitialized || status == Status::kDriverNotLoaded ||
         status == Status::kVersionMismatch;
}

bool is_lost(Status status) {
  return status == Status::kGpuIsLost || status == Status::kResetRequired ||
         status == Status::kNotReady || status == Status::kUnknown;
}

bool is_gone(Status status) { return is_lost(status) || is_driver_gone(status); }

std::expected<base::MebiBytes, Status> read_memory(const abi::Functions& nvml, abi::Device device) {
  const auto memory = read_bytes(nvml, device);
  if (!memory) return std::unexpected(memory.error());
  return base::MebiBytes{static_cast<std::int64_t>(memory->total / kMebi)};
}

std::expected<std::string, Status> read_uuid(const abi::Functions& nvml, abi::Device device) {
  return read_text<abi::kUuidBytes>(nvml.nvmlDeviceGetUUID, device);
}

std::expected<agent::DeviceReport, Status> read_device(const abi::Functions& nvml,
                                                       abi::Device device,
                                                       const std::string& pci_devices) {
  agent::DeviceReport report;
  const auto uuid = read_uuid(nvml, device);
  if (!uuid) return std::unexpected(uuid.error());
  const auto name = read_text<abi::kNameBytes>(nvml.nvmlDeviceGetName, device);
  if (!name) return std::unexpected(name.error());
  const auto memory = read_memory(nvml, device);
  if (!memory) return std::unexpected(memory.error());
  const auto bus = read_bus(nvml, device);
  if (!bus) return std::unexpected(bus.error());
  unsigned minor = 0;
  const Status status = abi::call(nvml.nvmlDeviceGetMinorNumber, device, &minor);
  if (status != Status::kSuccess) return std::unexpected(status);
  report.uuid = *uuid;
  report.model = label_form(*name);
  report.memory = *memory;
  report.pci_bus = *bus;
  report.minor = static_cast<int>(minor);
  report.numa_node = read_numa_node(pci_devices, *bus);
  report.recovery = read_recovery(nvml, device);
  if (const Status mig = read_mig(nvml, device, report); mig != Status::kSuccess)
    return std::unexpected(mig);
  return report;
}

std::expected<UsagePercent, Status> read_usage(const abi::Functions& nvml, abi::Device device) {
  const auto memory = read_bytes(nvml, device);
  if (!memory) return std::unexpected(memory.error());
  abi::Utilization utilization{};
  const Status status = abi::call(nvml.nvmlDeviceGetUtilizationRates, device, &utilization);
  if (status != Status::kSuccess && status != Status::kNotSupported &&
      status != Status::kFunctionNotFound)
    return std::unexpected(status);
  const unsigned long long used = std::min(memory->used, memory->total);
  return UsagePercent{
      .memory_percent = memory->total == 0 ? 0 : static_cast<int>(used * 100 / memory->total),
      .compute_percent = static_cast<int>(std::min(utilization.gpu, 100U))};
}

std::vector<std::vector<int>> read_nvlinks(const abi::Functions& nvml,
                                           const std::vector<LinkedGpu>& gpus) {
  if (nvml.nvmlDeviceGetNvLinkState == nullptr) return {};
  std::vector<LinkCounts> counts;
  counts.reserve(gpus.size());
  for (const LinkedGpu& gpu : gpus) counts.push_back(count_links(nvml, gpu.device, gpus));
  std::vector<std::vector<int>> links(gpus.size(), std::vector<int>(gpus.size(), 0));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      if (i == j) continue;
      links[i][j] = std::min(counts[i].to_gpus[j], counts[j].to_gpus[i]) +
                    std::min(counts[i].to_switches, counts[j].to_switches);
    }
  }
  return links;
}

}  // namespace snug::nvml
