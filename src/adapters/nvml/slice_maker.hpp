// Makes and destroys MIG slices of one GPU by an initialised management library. MIG mode must be
// on; it is never switched. Each function looks at what is there rather than at the codes of the
// driver, which says "insufficient resources" for an occupied place, and so also succeeds if
// another program did the same. Stateless. Errors: as NvmlDevices has them.
#pragma once

#include <string_view>

#include "adapters/nvml/nvml_library.hpp"
#include "snug/base/result.hpp"

namespace snug::nvml {

/// See SlicePort::create_slice(). A GPU instance of the profile at `start` that has no compute
/// instance gets one; it stays if that fails.
[[nodiscard]] base::Result<void> make_slice(const NvmlLibrary& library, std::string_view gpu_uuid,
                                            std::string_view profile, int start);

/// See SlicePort::destroy_instance().
[[nodiscard]] base::Result<void> destroy_slice(const NvmlLibrary& library,
                                               std::string_view gpu_uuid, int gpu_instance);

}  // namespace snug::nvml
