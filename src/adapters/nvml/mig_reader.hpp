// Reads the MIG side of one GPU: its mode, the profiles that it offers, its slices, and the other
// GPU instances. Stateless.
#pragma once

#include "adapters/nvml/nvml_abi.hpp"
#include "snug/agent/device_report.hpp"

namespace snug::nvml {

/// Fills mig_enabled, mig_profiles, mig_slices and mig_unfinished of the report, whose memory must
/// be known. All but the first are read only in MIG mode. kSuccess, or why the GPU does not answer.
[[nodiscard]] abi::Status read_mig(const abi::Functions& nvml, abi::Device device,
                                   agent::DeviceReport& report);

}  // namespace snug::nvml
