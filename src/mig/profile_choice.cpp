#include "snug/mig/profile_choice.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>

namespace snug::mig {

std::optional<SliceRequirement> slice_requirement(
    const model::ContainerRequest& container_request) {
  SliceRequirement requirement{.compute_percent = container_request.compute_percent.value_or(0)};
  if (const auto* slice = std::get_if<model::SliceRequest>(&container_request.device)) {
    requirement.profile = slice->profile;
  } else if (const auto* memory = std::get_if<model::MemoryRequest>(&container_request.device)) {
    requirement.memory = memory->memory;
  } else if (const auto* fraction =
                 std::get_if<model::FractionRequest>(&container_request.device)) {
    requirement.thousandths = fraction->thousandths;
  } else {
    return std::nullopt;
  }
  return requirement;
}

bool satisfies(const model::MigTable& table, const model::MigProfile& profile,
               const SliceRequirement& requirement) {
  if (profile.starts.empty()) return false;
  if (100 * profile.compute_slices < requirement.compute_percent * table.compute_slices)
    return false;
  if (!requirement.profile.empty()) {
    return profile.name == requirement.profile || profile.alias == requirement.profile;
  }
  // The comparison of texts comes last, since this is called for each profile of each card.
  return profile.memory >= requirement.memory &&
         1000 * profile.size >= requirement.thousandths * table.memory_slices && profile.is_plain();
}

std::optional<std::uint16_t> smallest_profile(const model::MigTable& table,
                                              const SliceRequirement& requirement,
                                              ProfileSet among) {
  std::optional<std::uint16_t> smallest;
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    const model::MigProfile& profile = table.profiles[i];
    if ((among >> i & 1U) == 0 || !satisfies(table, profile, requirement)) continue;
    if (smallest) {
      const model::MigProfile& best = table.profiles[*smallest];
      if (std::pair(best.size, best.compute_slices) <=
          std::pair(profile.size, profile.compute_slices))
        continue;
    }
    smallest = static_cast<std::uint16_t>(i);
  }
  return smallest;
}

base::MilliGpu slice_compute(const model::MigTable& table, const model::MigProfile& profile) {
  return {base::kWholeGpu.value * profile.compute_slices / std::max(1, table.compute_slices)};
}

std::int32_t axis_thousandths(const model::MigTable& table, model::AxisMask slices) {
  return 1000 * std::popcount(slices) / table.memory_slices;
}

std::int64_t free_placement_slices(const model::MigTable& table, const model::MigUse& use) {
  std::int64_t open = 0;
  for (const model::MigPlacement& slice : all_placements(table)) {
    const model::MigProfile& profile = table.profiles[slice.profile];
    if (profile.is_plain() && slice_fits(table, use, slice)) open += profile.size;
  }
  return open;
}

std::vector<std::uint16_t> least_blocking_starts(const model::MigTable& table,
                                                 std::uint16_t profile) {
  std::vector<std::pair<std::int64_t, std::uint16_t>> starts;
  for (const int start : table.profiles[profile].starts) {
    const model::MigPlacement slice{profile, static_cast<std::uint16_t>(start)};
    starts.emplace_back(free_placement_slices(table, with_slice(table, {}, slice)), slice.start);
  }
  std::ranges::sort(starts, std::greater<>{});
  std::vector<std::uint16_t> order;
  order.reserve(starts.size());
  for (const auto& [open, start] : starts) order.push_back(start);
  return order;
}

}  // namespace snug::mig
