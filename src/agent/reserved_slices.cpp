#include "snug/agent/reserved_slices.hpp"

#include <algorithm>

#include "snug/base/text.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::agent {

std::vector<ReservedSlice> slices_of(const model::Reservation& reservation) {
  std::vector<ReservedSlice> slices;
  for (const model::ReservedContainer& container : reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) {
      const auto& slice = device.slice;
      if (!slice) continue;
      slices.push_back({.gpu_index = device.index,
                        .gpu_uuid = device.uuid,
                        .profile = slice->profile,
                        .start = slice->start,
                        .pod_uid = reservation.uid});
    }
  }
  std::ranges::sort(slices);
  const auto [first, last] = std::ranges::unique(slices);
  slices.erase(first, last);
  return slices;
}

const DeviceReport* reserved_gpu(const NodeDevices& devices, int index, std::string_view uuid) {
  const auto found = uuid.empty() ? std::ranges::find(devices.gpus, index, &DeviceReport::index)
                                  : std::ranges::find(devices.gpus, uuid, &DeviceReport::uuid);
  return found == devices.gpus.end() ? nullptr : &*found;
}

bool is_same_profile(const DeviceReport& gpu, std::string_view one, std::string_view other) {
  if (one == other) return true;
  const std::string first = mig::canonical_profile_name(std::string(one));
  const std::string second = mig::canonical_profile_name(std::string(other));
  if (first == second || mig::profile_alias(first) == second) return true;
  const mig::MigCard* card = mig::find_mig_card(gpu.model, gpu.memory);
  if (card == nullptr) return false;
  const auto profile = card->table->find_profile(first);
  return profile && profile == card->table->find_profile(second);
}

const MigSliceReport* slice_at(const DeviceReport& gpu, std::string_view profile, int start) {
  const auto found = std::ranges::find_if(gpu.mig_slices, [&](const MigSliceReport& slice) {
    return slice.start == start && is_same_profile(gpu, slice.profile, profile);
  });
  return found == gpu.mig_slices.end() ? nullptr : &*found;
}

std::string slice_noun(std::string_view profile, int start, std::string_view gpu_uuid) {
  return "the slice " + base::in_quotes(profile) + " at " + std::to_string(start) + " of the GPU " +
         base::in_quotes(gpu_uuid);
}

}  // namespace snug::agent
