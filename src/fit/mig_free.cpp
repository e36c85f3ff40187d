#include "snug/fit/mig_free.hpp"

#include <algorithm>

#include "snug/mig/layouts.hpp"

namespace snug {
namespace {

bool is_of_plugin(const NodeInventory& node, const Slice& slice) {
  return node.plugin_has_all_slices || node.plugin_profiles.contains(slice.profile);
}

/// The slices that exist and that the device plug-in does not offer.
std::vector<MigPlacement> existing_slices(const NodeInventory& node, const GpuInfo& gpu) {
  std::vector<MigPlacement> slices;
  for (const Slice& slice : gpu.mig_instances) {
    const std::optional<MigPlacement> known = placement_of(*gpu.mig_table, slice);
    if (known && !is_of_plugin(node, slice)) slices.push_back(*known);
  }
  std::ranges::sort(slices);
  return slices;
}

/// Memory slices where the kubelet may put pods.
AxisMask slices_of_plugin(const NodeInventory& node, const GpuInfo& gpu) {
  AxisMask taken = 0;
  for (const Slice& slice : gpu.mig_instances) {
    const bool on_axis = slice.start + slice.size <= gpu.mig_table->axis;
    if (on_axis && is_of_plugin(node, slice)) taken |= axis_range(slice.start, slice.size);
  }
  return taken;
}

}  // namespace

MigFree MigFree::empty_card(const GpuInfo& gpu) {
  MigFree free;
  if (takes_slices(gpu)) free.table = gpu.mig_table;
  return free;
}

void MigFree::keep_what_node_offers(const NodeInventory& node, const GpuInfo& gpu) {
  dynamic = node.dynamic_mig;
  if (!dynamic) {
    existing = existing_slices(node, gpu);
    profiles = 0;
    for (const MigPlacement& slice : existing) profiles |= ProfileSet{1} << slice.profile;
  }
  use.taken |= slices_of_plugin(node, gpu);
}

void MigFree::remove_failed(const GpuInfo& gpu) { use.taken |= gpu.mig_failed; }

void MigFree::remove_taken(const GpuState& gpu) {
  use.taken |= gpu.mig.taken;
  use.engines = gpu.mig.engines;
}

std::optional<std::uint16_t> MigFree::profile_for(const SliceNeed& need) const {
  return smallest_profile(*table, need, profiles);
}

bool MigFree::open(const MigUse& beside, MigPlacement slice) const {
  if (!has_room(*table, beside, slice)) return false;
  return dynamic || std::ranges::binary_search(existing, slice);
}

bool MigFree::open_anywhere(std::uint16_t profile) const {
  return std::ranges::any_of(table->profiles[profile].starts, [&](int start) {
    return open(use, {profile, static_cast<std::uint16_t>(start)});
  });
}

std::vector<std::uint16_t> MigFree::open_starts(std::uint16_t profile,
                                                std::span<const std::uint16_t> starts) const {
  std::vector<std::uint16_t> open_ones;
  std::ranges::copy_if(starts, std::back_inserter(open_ones),
                       [&](std::uint16_t start) { return open(use, {profile, start}); });
  return open_ones;
}

AxisMask MigFree::idle() const {
  if (dynamic) return axis_range(0, table->axis) & ~use.taken;
  AxisMask idle = 0;
  for (const MigPlacement& slice : existing) {
    if (open(use, slice)) idle |= slice.range(*table);
  }
  return idle;
}

MigFree mig_free(const NodeInventory& node, const GpuState& gpu) {
  MigFree free = MigFree::empty_card(*gpu.info);
  if (!free.table) return free;
  free.keep_what_node_offers(node, *gpu.info);
  free.remove_failed(*gpu.info);
  free.remove_taken(gpu);
  return free;
}

}  // namespace snug
