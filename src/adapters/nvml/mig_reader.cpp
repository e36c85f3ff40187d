#include "adapters/nvml/mig_reader.hpp"

#include <algorithm>
#include <expected>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/nvml/device_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;

constexpr unsigned kMaxStarts = 64;      // memory slices of a card
constexpr unsigned kMaxMigDevices = 64;  // drivers have at most 8 on a card

struct OfferedProfile {
  unsigned id = 0;
  agent::MigProfileReport report;
};

std::string_view attribute_of(abi::GpuProfile profile) {
  using enum abi::GpuProfile;
  switch (profile) {
    case k1Media:
    case k2Media:
      return "+me";
    case k1Graphics:
    case k2Graphics:
    case k3Graphics:
    case k4Graphics:
      return "+gfx";
    case k1NoMedia:
    case k2NoMedia:
      return "-me";
    case k1AllMedia:
    case k2AllMedia:
      return "+me.all";
    default:
      return "";
  }
}

/// What both versions of the call say of a profile.
struct ProfileFacts {
  unsigned id = 0;
  unsigned slices = 0;
  unsigned long long memory_mib = 0;
};

std::expected<ProfileFacts, Status> read_profile_facts(const abi::Functions& nvml,
                                                       abi::Device device, unsigned number) {
  abi::GpuProfileInfo2 info{.version = abi::struct_version<abi::GpuProfileInfo2>(2)};
  Status status = abi::call(nvml.nvmlDeviceGetGpuInstanceProfileInfoV, device, number, &info);
  if (status == Status::kSuccess) return ProfileFacts{info.id, info.slices, info.memory_mib};
  if (status == Status::kFunctionNotFound || status == Status::kArgumentVersionMismatch) {
    abi::GpuProfileInfo plain{};
    status = abi::call(nvml.nvmlDeviceGetGpuInstanceProfileInfo, device, number, &plain);
    if (status == Status::kSuccess) return ProfileFacts{plain.id, plain.slices, plain.memory_mib};
  }
  return std::unexpected(status);
}

/// Nullopt: the card does not offer the profile.
std::expected<std::optional<OfferedProfile>, Status> read_profile(const abi::Functions& nvml,
                                                                  abi::Device device,
                                                                  unsigned number,
                                                                  base::MebiBytes card_memory) {
  const auto facts = read_profile_facts(nvml, device, number);
  if (!facts) {
    if (is_lost(facts.error()) || is_driver_gone(facts.error()))
      return std::unexpected(facts.error());
    return std::nullopt;
  }
  std::vector<abi::SlicePlacement> placements(kMaxStarts);
  unsigned count = kMaxStarts;
  const Status status = abi::call(nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2, device,
                                  facts->id, placements.data(), &count);
  if (is_lost(status) || is_driver_gone(status)) return std::unexpected(status);
  if (status != Status::kSuccess || count == 0 || count > kMaxStarts) return std::nullopt;
  OfferedProfile offered{.id = facts->id};
  offered.report.memory = {static_cast<std::int64_t>(facts->memory_mib)};
  offered.report.size = static_cast<int>(placements.front().size);
  offered.report.name = profile_name(static_cast<abi::GpuProfile>(number), facts->slices,
                                     offered.report.memory.value, card_memory);
  for (unsigned i = 0; i < count; ++i)
    offered.report.starts.push_back(static_cast<int>(placements[i].start));
  std::ranges::sort(offered.report.starts);
  return offered;
}

/// The slice of a MIG device; nullopt if it is part of a GPU instance only, or is being destroyed.
std::optional<agent::MigSliceReport> read_slice(const abi::Functions& nvml, abi::Device device,
                                                abi::Device mig,
                                                const std::vector<OfferedProfile>& profiles) {
  abi::DeviceAttributes attributes{};
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  abi::GpuInstance instance = nullptr;
  abi::GpuInstanceInfo info{};
  const bool known =
      abi::call(nvml.nvmlDeviceGetAttributes_v2, mig, &attributes) == Status::kSuccess &&
      abi::call(nvml.nvmlDeviceGetGpuInstanceId, mig, &gpu_instance) == Status::kSuccess &&
      abi::call(nvml.nvmlDeviceGetComputeInstanceId, mig, &compute_instance) == Status::kSuccess &&
      abi::call(nvml.nvmlDeviceGetGpuInstanceById, device, gpu_instance, &instance) ==
          Status::kSuccess &&
      abi::call(nvml.nvmlGpuInstanceGetInfo, instance, &info) == Status::kSuccess;
  const auto uuid = read_uuid(nvml, mig);
  const auto profile = std::ranges::find(profiles, info.profile_id, &OfferedProfile::id);
  if (!known || !uuid || profile == profiles.end() ||
      attributes.gpu_slices != attributes.compute_slices)
    return std::nullopt;
  return agent::MigSliceReport{.uuid = *uuid,
                               .profile = profile->report.name,
                               .start = static_cast<int>(info.placement.start),
                               .size = static_cast<int>(info.placement.size),
                               .gpu_instance = static_cast<int>(gpu_instance),
                               .compute_instance = static_cast<int>(compute_instance)};
}

Status read_slices(const abi::Functions& nvml, abi::Device device,
                   const std::vector<OfferedProfile>& profiles,
                   std::vector<agent::MigSliceReport>& slices) {
  unsigned count = 0;
  const Status status = abi::call(nvml.nvmlDeviceGetMaxMigDeviceCount, device, &count);
  if (status != Status::kSuccess) return status;
  for (unsigned index = 0; index < std::min(count, kMaxMigDevices); ++index) {
    abi::Device mig = nullptr;
    const Status found = abi::call(nvml.nvmlDeviceGetMigDeviceHandleByIndex, device, index, &mig);
    if (is_lost(found) || is_driver_gone(found)) return found;
    if (found != Status::kSuccess) continue;
    if (auto slice = read_slice(nvml, device, mig, profiles)) slices.push_back(std::move(*slice));
  }
  std::ranges::sort(slices, {}, &agent::MigSliceReport::start);
  return Status::kSuccess;
}

}  // namespace

std::string profile_name(abi::GpuProfile profile, unsigned compute_slices,
                         std::int64_t instance_mib, base::MebiBytes card_memory) {
  constexpr std::int64_t kParts = 8;
  constexpr std::int64_t kMibPerGib = 1024;
  const std::int64_t card_mib = std::max<std::int64_t>(card_memory.value, 1);
  const std::int64_t parts = (instance_mib * kParts + card_mib - 1) / card_mib;
  const std::int64_t card_gib = (card_mib + kMibPerGib - 1) / kMibPerGib;
  const std::int64_t gigabytes = (parts * card_gib + kParts / 2) / kParts;
  std::string name = std::to_string(compute_slices) + "g." + std::to_string(gigabytes) + "gb";
  return name += attribute_of(profile);
}

Status read_mig(const abi::Functions& nvml, abi::Device device, agent::DeviceReport& report) {
  unsigned current = 0;
  unsigned pending = 0;
  const Status mode = abi::call(nvml.nvmlDeviceGetMigMode, device, &current, &pending);
  if (is_lost(mode) || is_driver_gone(mode)) return mode;
  report.mig_enabled = mode == Status::kSuccess && current == abi::kMigModeOn;
  if (!report.mig_enabled) return Status::kSuccess;
  std::vector<OfferedProfile> profiles;
  for (unsigned number = 0; number < abi::kGpuProfiles; ++number) {
    auto profile = read_profile(nvml, device, number, report.memory);
    if (!profile) return profile.error();
    std::optional<OfferedProfile>& offered = *profile;
    if (offered) profiles.push_back(std::move(*offered));
  }
  for (const OfferedProfile& profile : profiles) {
    // A future profile can get the name of another one: pods get the first.
    const bool is_new =
        std::ranges::find(report.mig_profiles, profile.report.name,
                          &agent::MigProfileReport::name) == report.mig_profiles.end();
    if (is_new) report.mig_profiles.push_back(profile.report);
  }
  return read_slices(nvml, device, profiles, report.mig_slices);
}

}  // namespace snug::nvml
