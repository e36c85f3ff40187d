// What the agent writes into containers and into its refusals, and `snugctl verify` looks for
// there: words, and the variables that limit a share. Pure; thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/units.hpp"

namespace snug::agent {

/// Every refusal of a container whose pod names GPUs by a CDI annotation contains it.
inline constexpr std::string_view kAsksByCdi = "asks for GPUs by CDI";

// Where the PATH and LD_LIBRARY_PATH of NVIDIA's CUDA images look.
inline constexpr std::string_view kProgramFolder = "/usr/local/nvidia/bin";
inline constexpr std::string_view kLibraryFolder = "/usr/local/nvidia/lib64";

using Variable = std::pair<std::string, std::string>;

/// As CUDA and HAMi-core want a share of the compute; at least 1.
[[nodiscard]] constexpr std::int64_t percent_of(base::MilliGpu compute) {
  return std::max<std::int64_t>(1, compute.value / 10);
}

[[nodiscard]] inline Variable mps_memory_limit(base::MebiBytes memory) {
  return {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=" + std::to_string(memory.value) + "M"};
}
[[nodiscard]] inline Variable mps_compute_limit(base::MilliGpu compute) {
  return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(percent_of(compute))};
}

/// `number`: of the device in the container.
[[nodiscard]] inline Variable hami_memory_limit(std::size_t number, base::MebiBytes memory) {
  return {"CUDA_DEVICE_MEMORY_LIMIT_" + std::to_string(number), std::to_string(memory.value) + "m"};
}
[[nodiscard]] inline Variable hami_compute_limit(base::MilliGpu compute) {
  return {"CUDA_DEVICE_SM_LIMIT", std::to_string(percent_of(compute))};
}

}  // namespace snug::agent
