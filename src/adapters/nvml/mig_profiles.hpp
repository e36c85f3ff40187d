// The MIG profiles of one GPU by the driver's ids, and by the names under which the inventory and
// reservations have them. Stateless.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "adapters/nvml/nvml_abi.hpp"
#include "snug/agent/device_report.hpp"

namespace snug::nvml {

struct DriverProfile {
  unsigned id = 0;              // the driver's, which instances have
  unsigned compute_slices = 0;  // of a GPU instance
  /// False: the number of the profile is newer than this program, so its name is not known, or the
  /// driver says no placement. GPU instances can have it, but pods cannot ask for it.
  bool offered = false;
  agent::MigProfileReport report;  // empty unless offered
};

/// All profiles of a GPU in MIG mode, in the order of their numbers. If two have one name, pods get
/// the first.
[[nodiscard]] std::expected<std::vector<DriverProfile>, abi::Status> read_profiles(
    const abi::Functions& nvml, abi::Device device, base::MebiBytes card_memory);

/// Whether MIG mode is on. False for a GPU without MIG.
[[nodiscard]] std::expected<bool, abi::Status> read_mig_mode(const abi::Functions& nvml,
                                                             abi::Device device);

/// The name of a profile as NVIDIA's device plug-in names it. The gigabytes are those of the card,
/// in eighths: the eighths that hold the instance's memory, rounded.
[[nodiscard]] std::string profile_name(abi::GpuProfile profile, unsigned compute_slices,
                                       std::int64_t instance_mib, base::MebiBytes card_memory);

}  // namespace snug::nvml
