#include "snug/agent/inventory.hpp"

#include <algorithm>
#include <utility>

namespace snug::agent {
namespace {

void remove_overlapping(std::vector<MigSliceReport>& slices) {
  std::vector<MigSliceReport> kept;
  for (MigSliceReport& slice : slices) {
    const bool overlaps = std::ranges::any_of(kept, [&](const MigSliceReport& other) {
      return slice.start < other.start + other.size && other.start < slice.start + slice.size;
    });
    if (!overlaps) kept.push_back(std::move(slice));
  }
  slices = std::move(kept);
}

}  // namespace

Inventory make_inventory(NodeDevices devices, InventorySettings settings) {
  for (DeviceReport& gpu : devices.gpus) remove_overlapping(gpu.mig_slices);
  return {.settings = std::move(settings),
          .gpus = std::move(devices.gpus),
          .links = std::move(devices.nvlinks)};
}

}  // namespace snug::agent
