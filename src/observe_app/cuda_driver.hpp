// Asks CUDA's driver library, libcuda.so.1, which the program loads as a CUDA program does, so that
// it needs neither CUDA's headers nor the library to be there. Its binary interface has been the
// same since CUDA 7; what newer drivers added is looked up and may be missing. Not thread-safe.
#pragma once

#include <cstdint>

#include "snug/verify/observation.hpp"

namespace snug::observe_app {

/// Fills in `cuda` and `allocation` of the observation. `allocate_mib`: how much memory of device 0
/// to allocate; 0: none. It is freed again.
void observe_cuda(std::int64_t allocate_mib, verify::Observation& seen);

}  // namespace snug::observe_app
