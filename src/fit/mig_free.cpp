#include "snug/fit/mig_free.hpp"

#include <algorithm>

#include "snug/mig/layouts.hpp"

namespace snug::fit {
namespace {

bool is_of_plugin(const model::NodeInventory& node, const model::Slice& slice) {
  return node.plugin_owns_all_slices || node.plugin_profiles.contains(slice.profile);
}

/// The GPU's existing slices, sorted, without those that the device plug-in offers.
std::vector<model::MigPlacement> existing_slices(const model::NodeInventory& node,
                                                 const model::GpuInfo& gpu) {
  std::vector<model::MigPlacement> slices;
  for (const model::Slice& slice : gpu.mig_instances) {
    const std::optional<model::MigPlacement> placement =
        model::find_placement(*gpu.mig_table, slice);
    if (placement && !is_of_plugin(node, slice)) slices.push_back(*placement);
  }
  std::ranges::sort(slices);
  return slices;
}

/// The memory slices of all slices that the device plug-in offers, which the kubelet may assign.
model::AxisMask slices_of_plugin(const model::NodeInventory& node, const model::GpuInfo& gpu) {
  model::AxisMask plugin_slices = 0;
  for (const model::Slice& slice : gpu.mig_instances) {
    const bool on_axis = slice.start + slice.size <= gpu.mig_table->memory_slices;
    if (on_axis && is_of_plugin(node, slice))
      plugin_slices |= model::axis_range(slice.start, slice.size);
  }
  return plugin_slices;
}

}  // namespace

MigFree MigFree::empty_card(const model::GpuInfo& gpu) {
  MigFree free;
  if (serves_slices(gpu)) free.table = gpu.mig_table;
  return free;
}

void MigFree::keep_what_node_offers(const model::NodeInventory& node, const model::GpuInfo& gpu) {
  // Other enforcers give containers no slices.
  dynamic = node.dynamic_mig && !node.other_enforcer;
  if (!dynamic) {
    if (!node.other_enforcer) existing = existing_slices(node, gpu);
    profiles = 0;
    for (const model::MigPlacement& slice : existing)
      profiles |= mig::ProfileSet{1} << slice.profile;
  }
  use.taken_slices |= slices_of_plugin(node, gpu);
}

void MigFree::remove_failed(const model::GpuInfo& gpu) {
  use.taken_slices |= gpu.failed_memory_slices;
}

void MigFree::remove_taken(const model::GpuState& gpu) {
  use.taken_slices |= gpu.mig.taken_slices;
  use.engines = gpu.mig.engines;
}

std::optional<std::uint16_t> MigFree::profile_for(const mig::SliceRequirement& requirement) const {
  return mig::smallest_profile(*table, requirement, profiles);
}

bool MigFree::open(const model::MigUse& beside, model::MigPlacement slice) const {
  if (!mig::slice_fits(*table, beside, slice)) return false;
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

model::AxisMask MigFree::idle() const {
  if (dynamic) return model::axis_range(0, table->memory_slices) & ~use.taken_slices;
  model::AxisMask idle = 0;
  for (const model::MigPlacement& slice : existing) {
    if (open(use, slice)) idle |= slice.range(*table);
  }
  return idle;
}

MigFree mig_free(const model::NodeInventory& node, const model::GpuState& gpu) {
  MigFree free_slices = MigFree::empty_card(*gpu.info);
  if (!free_slices.table) return free_slices;
  free_slices.keep_what_node_offers(node, *gpu.info);
  free_slices.remove_failed(*gpu.info);
  free_slices.remove_taken(gpu);
  return free_slices;
}

}  // namespace snug::fit
