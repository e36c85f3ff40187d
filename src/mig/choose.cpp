#include "snug/mig/choose.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>

namespace snug {

std::optional<SliceNeed> slice_need(const ContainerRequest& asked) {
  SliceNeed need{.compute_percent = asked.compute_percent.value_or(0)};
  if (const auto* slice = std::get_if<SliceAsk>(&asked.ask)) {
    need.profile = slice->profile;
  } else if (const auto* memory = std::get_if<MemoryAsk>(&asked.ask)) {
    need.memory = memory->memory;
  } else if (const auto* fraction = std::get_if<FractionAsk>(&asked.ask)) {
    need.thousandths = fraction->thousandths;
  } else {
    return std::nullopt;
  }
  return need;
}

bool serves(const MigTable& table, const MigProfile& profile, const SliceNeed& need) {
  if (profile.starts.empty()) return false;
  if (100 * profile.compute < need.compute_percent * table.compute) return false;
  if (!need.profile.empty()) {
    return profile.name == need.profile || profile.alias == need.profile;
  }
  return profile.plain() && profile.memory >= need.memory &&
         1000 * profile.size >= need.thousandths * table.axis;
}

std::optional<std::uint16_t> smallest_profile(const MigTable& table, const SliceNeed& need,
                                              ProfileSet among) {
  std::optional<std::uint16_t> smallest;
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    const MigProfile& profile = table.profiles[i];
    if ((among >> i & 1U) == 0 || !serves(table, profile, need)) continue;
    if (smallest) {
      const MigProfile& best = table.profiles[*smallest];
      if (std::pair(best.size, best.compute) <= std::pair(profile.size, profile.compute)) continue;
    }
    smallest = static_cast<std::uint16_t>(i);
  }
  return smallest;
}

MilliGpu slice_compute(const MigTable& table, const MigProfile& profile) {
  return {kWholeGpu.value * profile.compute / std::max(1, table.compute)};
}

std::int32_t axis_thousandths(const MigTable& table, AxisMask slices) {
  return 1000 * std::popcount(slices) / table.axis;
}

std::int64_t openness(const MigTable& table, const MigUse& use) {
  std::int64_t open = 0;
  for (const MigPlacement& slice : placements(table)) {
    const MigProfile& profile = table.profiles[slice.profile];
    if (profile.plain() && has_room(table, use, slice)) open += profile.size;
  }
  return open;
}

std::vector<std::uint16_t> starts_that_block_least(const MigTable& table, std::uint16_t profile) {
  std::vector<std::pair<std::int64_t, std::uint16_t>> starts;
  for (const int start : table.profiles[profile].starts) {
    const MigPlacement slice{profile, static_cast<std::uint16_t>(start)};
    starts.emplace_back(openness(table, with_slice(table, {}, slice)), slice.start);
  }
  std::ranges::sort(starts, std::greater<>{});
  std::vector<std::uint16_t> order;
  order.reserve(starts.size());
  for (const auto& [open, start] : starts) order.push_back(start);
  return order;
}

}  // namespace snug
