// Limits the memory that the processes of a cgroup can allocate on a GPU. Stateless. Errors: as
// NvmlDevices has them.
#pragma once

#include <string_view>

#include "adapters/nvml/nvml_library.hpp"
#include "snug/base/result.hpp"
#include "snug/base/units.hpp"

namespace snug::nvml {

/// Whether the driver has the function, which came with driver 615.
[[nodiscard]] bool can_limit_memory(const NvmlLibrary& library);

/// See MemoryLimitPort::limit_memory(). The driver also keeps the memory for the cgroup: it is
/// reserved for it alone.
[[nodiscard]] base::Result<void> limit_cgroup(const NvmlLibrary& library, std::string_view gpu_uuid,
                                              std::string_view cgroup_path, base::MebiBytes limit);

}  // namespace snug::nvml
