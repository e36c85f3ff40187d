#include "adapters/nvml/mig_profiles.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "adapters/nvml/device_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;

constexpr unsigned kMaxStarts = 64;          // memory slices of a card
constexpr unsigned kMaxProfileNumbers = 64;  // drivers know 18

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

/// The profile with its placements and name.
std::expected<DriverProfile, Status> read_profile(const abi::Functions& nvml, abi::Device device,
                                                  unsigned number, const ProfileFacts& facts,
                                                  base::MebiBytes card_memory) {
  DriverProfile profile{.id = facts.id, .compute_slices = facts.slices};
  if (number >= abi::kGpuProfiles) return profile;
  std::vector<abi::SlicePlacement> placements(kMaxStarts);
  unsigned count = kMaxStarts;
  const Status status = abi::call(nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2, device,
                                  facts.id, placements.data(), &count);
  if (is_gone(status)) return std::unexpected(status);
  if (status != Status::kSuccess || count == 0 || count > kMaxStarts) return profile;
  profile.offered = true;
  profile.report.memory = {static_cast<std::int64_t>(facts.memory_mib)};
  profile.report.size = static_cast<int>(placements.front().size);
  profile.report.name = profile_name(static_cast<abi::GpuProfile>(number), facts.slices,
                                     profile.report.memory.value, card_memory);
  for (unsigned i = 0; i < count; ++i)
    profile.report.starts.push_back(static_cast<int>(placements[i].start));
  std::ranges::sort(profile.report.starts);
  return profile;
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

std::expected<bool, Status> read_mig_mode(const abi::Functions& nvml, abi::Device device) {
  unsigned current = 0;
  unsigned pending = 0;
  const Status status = abi::call(nvml.nvmlDeviceGetMigMode, device, &current, &pending);
  if (is_gone(status)) return std::unexpected(status);
  return status == Status::kSuccess && current == abi::kMigModeOn;
}

std::expected<std::vector<DriverProfile>, Status> read_profiles(const abi::Functions& nvml,
                                                                abi::Device device,
                                                                base::MebiBytes card_memory) {
  std::vector<DriverProfile> profiles;
  for (unsigned number = 0; number < kMaxProfileNumbers; ++number) {
    const auto facts = read_profile_facts(nvml, device, number);
    if (!facts) {
      if (is_gone(facts.error())) return std::unexpected(facts.error());
      // The driver knows no higher number.
      if (number >= abi::kGpuProfiles && facts.error() == Status::kInvalidArgument) break;
      continue;
    }
    auto profile = read_profile(nvml, device, number, *facts, card_memory);
    if (!profile) return std::unexpected(profile.error());
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

}  // namespace snug::nvml
