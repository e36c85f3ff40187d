// What a container sees of GPUs.
#pragma once

#include <cstdint>

#include "snug/verify/observation.hpp"

namespace snug::observe_app {

/// Opens the device nodes of NVIDIA's driver in /dev, reads variables, and asks CUDA.
/// `allocate_mib`: see observe_cuda().
[[nodiscard]] verify::Observation observe(std::int64_t allocate_mib);

}  // namespace snug::observe_app
