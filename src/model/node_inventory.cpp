#include "snug/model/node_inventory.hpp"

#include <algorithm>
#include <cstddef>

namespace snug::model {
std::optional<MigPlacement> find_placement(const MigTable& table, const Slice& slice) {
  const auto profile_index = table.find_profile(slice.profile);
  if (!profile_index) return std::nullopt;
  const MigProfile& profile = table.profiles[*profile_index];
  const bool starts = std::ranges::find(profile.starts, slice.start) != profile.starts.end();
  if (profile.size != slice.size || !starts) return std::nullopt;
  return MigPlacement{static_cast<std::uint16_t>(*profile_index),
                      static_cast<std::uint16_t>(slice.start)};
}

std::optional<std::size_t> NodeInventory::find_gpu(int index, std::string_view uuid) const {
  if (!uuid.empty()) {
    const auto same_uuid = std::ranges::find(gpus, uuid, &GpuInfo::uuid);
    if (same_uuid != gpus.end()) return static_cast<std::size_t>(same_uuid - gpus.begin());
  }
  const auto same_index = std::ranges::find(gpus, index, &GpuInfo::index);
  if (same_index == gpus.end()) return std::nullopt;
  return static_cast<std::size_t>(same_index - gpus.begin());
}

}  // namespace snug::model
