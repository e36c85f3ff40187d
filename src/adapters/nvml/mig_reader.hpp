// Reads the MIG side of one GPU: its mode, the profiles that it offers, and its slices. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "adapters/nvml/nvml_abi.hpp"
#include "snug/agent/device_report.hpp"

namespace snug::nvml {

/// Fills mig_enabled, mig_profiles and mig_slices of the report, whose memory must be known.
/// Profiles and slices are read only in MIG mode. A GPU instance without a compute instance that
/// fills it is no slice. kSuccess, or why the GPU does not answer.
[[nodiscard]] abi::Status read_mig(const abi::Functions& nvml, abi::Device device,
                                   agent::DeviceReport& report);

/// The name of a profile as NVIDIA's device plug-in names it. The gigabytes are those of the card,
/// in eighths: the eighths that hold the instance's memory, rounded.
[[nodiscard]] std::string profile_name(abi::GpuProfile profile, unsigned compute_slices,
                                       std::int64_t instance_mib, base::MebiBytes card_memory);

}  // namespace snug::nvml
