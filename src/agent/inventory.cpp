#include "snug/agent/inventory.hpp"

#include <algorithm>
#include <utility>

#include "snug/base/agent_limits.hpp"

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

Inventory make_inventory(NodeDevices devices, InventorySettings settings,
                         std::vector<SliceFailure> mig_failures) {
  for (DeviceReport& gpu : devices.gpus) remove_overlapping(gpu.mig_slices);
  if (std::ssize(mig_failures) > base::agent_limits::max_mig_failures)
    mig_failures.resize(base::agent_limits::max_mig_failures);
  return {.settings = std::move(settings),
          .gpus = std::move(devices.gpus),
          .links = std::move(devices.nvlinks),
          .mig_failures = std::move(mig_failures)};
}

}  // namespace snug::agent
