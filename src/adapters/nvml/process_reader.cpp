#include "adapters/nvml/process_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "adapters/nvml/device_reader.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::nvml {
namespace {

using abi::Status;
using ListFunction = Status (*)(abi::Device, unsigned*, abi::Process*);

constexpr std::size_t kMaxProcesses = base::agent_limits::max_gpu_processes;

std::expected<std::vector<abi::Process>, Status> list_processes(ListFunction function,
                                                                abi::Device device) {
  std::vector<abi::Process> processes(kMaxProcesses);
  unsigned count = kMaxProcesses;
  const Status status = abi::call(function, device, &count, processes.data());
  if (status != Status::kSuccess) return std::unexpected(status);
  processes.resize(std::min<std::size_t>(count, kMaxProcesses));
  return processes;
}

}  // namespace

std::expected<InstanceUse, Status> read_instance_use(const abi::Functions& nvml, abi::Device gpu,
                                                     unsigned gpu_instance,
                                                     const std::vector<MigDevice>& mig_devices,
                                                     std::size_t compute_instances) {
  std::set<unsigned> users;
  bool is_known = false;
  for (const ListFunction function :
       {nvml.nvmlDeviceGetComputeRunningProcesses_v3, nvml.nvmlDeviceGetGraphicsRunningProcesses_v3,
        nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3}) {
    const auto of_gpu = list_processes(function, gpu);
    if (!of_gpu && is_gone(of_gpu.error())) return std::unexpected(of_gpu.error());
    for (const abi::Process& process : of_gpu.value_or(std::vector<abi::Process>{})) {
      if (process.gpu_instance == gpu_instance) users.insert(process.pid);
    }
    std::size_t read = 0;
    for (const MigDevice& mig : mig_devices) {
      const auto of_mig = list_processes(function, mig.device);
      if (!of_mig && is_gone(of_mig.error())) return std::unexpected(of_mig.error());
      if (!of_mig) continue;
      ++read;
      for (const abi::Process& process : *of_mig) users.insert(process.pid);
    }
    if (function == nvml.nvmlDeviceGetComputeRunningProcesses_v3) {
      const bool each_mig = compute_instances > 0 && read >= compute_instances;
      is_known = of_gpu.has_value() || each_mig;
    }
  }
  return InstanceUse{is_known, {users.begin(), users.end()}};
}

}  // namespace snug::nvml
