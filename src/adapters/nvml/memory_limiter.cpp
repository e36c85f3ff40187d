#include "adapters/nvml/memory_limiter.hpp"

#include <string>

#include "adapters/nvml/named_gpu.hpp"

namespace snug::nvml {

using abi::Status;

bool can_limit_memory(const NvmlLibrary& library) {
  return library.functions().nvmlDeviceSetMemoryLimits_v1 != nullptr;
}

base::Result<void> limit_cgroup(const NvmlLibrary& library, std::string_view gpu_uuid,
                                std::string_view cgroup_path, base::MebiBytes limit) {
  constexpr unsigned long long kBytes = 1024ULL * 1024;
  const auto gpu = find_gpu(library, gpu_uuid);
  if (!gpu) return std::unexpected(gpu.error());
  const std::string path(cgroup_path);
  const std::string sentence = "the memory of the cgroup " + path + " cannot be limited to " +
                               std::to_string(limit.value) + " MiB";
  if (limit.value <= 0) return gpu->refuse(base::ErrorCode::kInvalid, sentence);
  const unsigned long long bytes = static_cast<unsigned long long>(limit.value) * kBytes;
  abi::MemoryLimits limits{.cgroup = path.c_str(), .soft = bytes, .hard = bytes};
  const Status status = abi::call(gpu->nvml.nvmlDeviceSetMemoryLimits_v1, gpu->device, &limits);
  if (status == Status::kSuccess) return {};
  if (status == Status::kOperatingSystem) {
    return gpu->refuse(base::ErrorCode::kNotFound,
                       sentence + ", since the driver cannot open it: " + library.text_of(status));
  }
  return gpu->fail(sentence, status);
}

}  // namespace snug::nvml
