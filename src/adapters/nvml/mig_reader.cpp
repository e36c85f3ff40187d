#include "adapters/nvml/mig_reader.hpp"

#include <algorithm>
#include <expected>
#include <optional>
#include <utility>
#include <vector>

#include "adapters/nvml/device_reader.hpp"
#include "adapters/nvml/mig_instances.hpp"
#include "adapters/nvml/mig_profiles.hpp"

namespace snug::nvml {
namespace {

using abi::Status;

/// The slice that is the MIG device in `instance`. Nullopt: the device is only a part of it, or is
/// being destroyed.
std::expected<std::optional<agent::MigSliceReport>, Status> read_slice(
    const abi::Functions& nvml, const MigDevice& mig, const MigInstance& instance,
    const DriverProfile& profile) {
  abi::DeviceAttributes attributes{};
  const Status status = abi::call(nvml.nvmlDeviceGetAttributes_v2, mig.device, &attributes);
  if (is_gone(status)) return std::unexpected(status);
  const auto uuid = read_uuid(nvml, mig.device);
  if (!uuid && is_gone(uuid.error())) return std::unexpected(uuid.error());
  if (status != Status::kSuccess || !uuid || attributes.gpu_slices != attributes.compute_slices)
    return std::nullopt;
  return agent::MigSliceReport{.uuid = *uuid,
                               .profile = profile.report.name,
                               .start = static_cast<int>(instance.info.placement.start),
                               .size = static_cast<int>(instance.info.placement.size),
                               .gpu_instance = static_cast<int>(mig.gpu_instance),
                               .compute_instance = static_cast<int>(mig.compute_instance)};
}

/// Adds the instance to the slices, or to the unfinished ones.
Status report_instance(const abi::Functions& nvml, const MigInstance& instance,
                       const std::vector<DriverProfile>& profiles,
                       const std::vector<MigDevice>& mig_devices, agent::DeviceReport& report) {
  const auto profile = std::ranges::find(profiles, instance.info.profile_id, &DriverProfile::id);
  const bool offered = profile != profiles.end() && profile->offered;
  bool has_compute_instances = false;
  for (const MigDevice& mig : mig_devices) {
    if (mig.gpu_instance != instance.info.id) continue;
    has_compute_instances = true;
    if (!offered) continue;
    auto slice = read_slice(nvml, mig, instance, *profile);
    if (!slice) return slice.error();
    std::optional<agent::MigSliceReport>& found = *slice;
    if (!found) continue;
    report.mig_slices.push_back(std::move(*found));
    return Status::kSuccess;
  }
  report.mig_unfinished.push_back({.gpu_instance = static_cast<int>(instance.info.id),
                                   .start = static_cast<int>(instance.info.placement.start),
                                   .size = static_cast<int>(instance.info.placement.size),
                                   .has_compute_instances = has_compute_instances});
  return Status::kSuccess;
}

}  // namespace

Status read_mig(const abi::Functions& nvml, abi::Device device, agent::DeviceReport& report) {
  const auto mode = read_mig_mode(nvml, device);
  if (!mode) return mode.error();
  report.mig_enabled = *mode;
  if (!report.mig_enabled) return Status::kSuccess;
  const auto profiles = read_profiles(nvml, device, report.memory);
  if (!profiles) return profiles.error();
  for (const DriverProfile& profile : *profiles) {
    const bool is_new =
        std::ranges::find(report.mig_profiles, profile.report.name,
                          &agent::MigProfileReport::name) == report.mig_profiles.end();
    if (profile.offered && is_new) report.mig_profiles.push_back(profile.report);
  }
  const auto mig_devices = list_mig_devices(nvml, device);
  if (!mig_devices) return mig_devices.error();
  const auto instances = list_instances(nvml, device, *profiles, *mig_devices);
  if (!instances) return instances.error();
  for (const MigInstance& instance : *instances) {
    const Status status = report_instance(nvml, instance, *profiles, *mig_devices, report);
    if (status != Status::kSuccess) return status;
  }
  return Status::kSuccess;
}

}  // namespace snug::nvml
