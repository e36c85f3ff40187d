#include "fit/slices.hpp"

#include <algorithm>
#include <cstddef>

#include "snug/base/limits.hpp"

namespace snug {
namespace {

bool is_of_plugin(const NodeInventory& node, const Slice& slice) {
  return node.plugin_has_all_slices || node.plugin_profiles.contains(slice.profile);
}

/// The slices that exist and are not the device plug-in's to give, as their table has them.
std::vector<MigPlacement> existing_slices(const NodeInventory& node, const GpuInfo& gpu) {
  std::vector<MigPlacement> slices;
  for (const Slice& slice : gpu.mig_instances) {
    const std::optional<MigPlacement> known = placement_of(*gpu.mig_table, slice);
    if (known && !is_of_plugin(node, slice)) slices.push_back(*known);
  }
  std::ranges::sort(slices);
  return slices;
}

/// Where the kubelet may put pods.
AxisMask slices_of_plugin(const NodeInventory& node, const GpuInfo& gpu) {
  AxisMask taken = 0;
  for (const Slice& slice : gpu.mig_instances) {
    const bool on_axis = slice.start + slice.size <= gpu.mig_table->axis;
    if (on_axis && is_of_plugin(node, slice)) taken |= axis_range(slice.start, slice.size);
  }
  return taken;
}

}  // namespace

bool MigRoom::open(const MigUse& beside, MigPlacement slice) const {
  if (!has_room(*table, beside, slice)) return false;
  return dynamic || std::ranges::binary_search(existing, slice);
}

bool MigRoom::open_anywhere(std::uint16_t profile) const {
  return std::ranges::any_of(table->profiles[profile].starts, [&](int start) {
    return open(use, {profile, static_cast<std::uint16_t>(start)});
  });
}

AxisMask MigRoom::idle() const {
  if (dynamic) return axis_range(0, table->axis) & ~use.taken;
  AxisMask idle = 0;
  for (const MigPlacement& slice : existing) {
    if (open(use, slice)) idle |= slice.range(*table);
  }
  return idle;
}

MigRoom mig_room_by(const NodeInventory& node, const GpuState& gpu, Level level) {
  MigRoom room{.table = gpu.info->mig_table};
  if (!takes_slices(*gpu.info)) return {};
  if (level < Level::kMode) return room;
  room.dynamic = node.dynamic_mig;
  if (!room.dynamic) {
    room.existing = existing_slices(node, *gpu.info);
    room.profiles = 0;
    for (const MigPlacement& slice : room.existing) room.profiles |= ProfileSet{1} << slice.profile;
  }
  room.use.taken = slices_of_plugin(node, *gpu.info);
  if (level >= Level::kRoom) {
    room.use.taken |= gpu.mig.taken;
    room.use.engines = gpu.mig.engines;
  }
  if (level >= Level::kHealth) room.use.taken |= gpu.info->mig_failed;
  return room;
}

MigRoom mig_room(const NodeInventory& node, const GpuState& gpu) {
  return mig_room_by(node, gpu, Level::kRoom);
}

Charge slice_charge(const MigTable& table, std::uint16_t profile) {
  const MigProfile& of = table.profiles[profile];
  return {.memory = of.memory, .compute = slice_compute(table, of)};
}

DeviceTake slice_take(const MigTable& table, AxisMask idle, MigPlacement slice) {
  const Charge cost = slice_charge(table, slice.profile);
  const std::int32_t milli =
      axis_thousandths(table, idle) - axis_thousandths(table, idle & ~slice.range(table));
  return {.mode = GpuMode::kMig,
          .room = 2 * milli,
          .milli = milli,
          .memory = cost.memory,
          .compute = cost.compute,
          .slice = slice};
}

std::span<const std::uint16_t> StartOrders::of(const MigTableRef& table, std::uint16_t profile) {
  const auto [known, is_new] = orders_.try_emplace({table.pointer().get(), profile});
  Order& order = known->second;
  if (is_new) order = {table.pointer(), starts_that_block_least(*table, profile)};
  return order.starts;
}

namespace {

class Placing {
 public:
  Placing(const MigRoom& room, std::span<const std::uint16_t> profiles, StartOrders& orders)
      : room_(room), profiles_(profiles), orders_(orders) {}

  std::optional<std::vector<MigPlacement>> run(std::int64_t& steps) {
    const bool found = extend(room_.use, 0);
    steps += kMostSliceSteps - std::max<std::int64_t>(0, steps_);
    if (!found) return std::nullopt;
    return placed_;
  }

 private:
  /// `from`: of the orders of starts; of equal profiles the later has a later one.
  bool extend(const MigUse& use, std::size_t from) {
    if (placed_.size() == profiles_.size()) return true;
    const std::uint16_t profile = profiles_[placed_.size()];
    const std::span<const std::uint16_t> starts = orders_.of(room_.table, profile);
    for (std::size_t i = from; i < starts.size() && steps_-- > 0; ++i) {
      const MigPlacement slice{profile, starts[i]};
      if (!room_.open(use, slice)) continue;
      placed_.push_back(slice);
      const bool again = placed_.size() < profiles_.size() && profiles_[placed_.size()] == profile;
      if (extend(with_slice(*room_.table, use, slice), again ? i + 1 : 0)) return true;
      placed_.pop_back();
    }
    return false;
  }

  const MigRoom& room_;
  std::span<const std::uint16_t> profiles_;
  StartOrders& orders_;
  std::vector<MigPlacement> placed_;
  std::int64_t steps_ = kMostSliceSteps;  // that are left
};

}  // namespace

std::optional<std::vector<MigPlacement>> place_together(const MigRoom& room,
                                                        std::span<const std::uint16_t> profiles,
                                                        StartOrders& orders, std::int64_t& steps) {
  return Placing(room, profiles, orders).run(steps);
}

}  // namespace snug
