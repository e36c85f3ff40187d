// Which profile of a card serves a request, and where on the card a slice of it blocks the least.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/mig/layouts.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// Profiles of one table as bits, by position.
using ProfileSet = std::uint64_t;
inline constexpr ProfileSet kAllProfiles = ~ProfileSet{0};

/// What a slice must have to serve a request. Of `profile`, `memory` and `thousandths` one is set.
struct SliceNeed {
  std::string profile;  // exactly this; empty: any plain one that has the rest
  MebiBytes memory;
  int thousandths = 0;  // of the axis
  int compute_percent = 0;

  friend auto operator<=>(const SliceNeed&, const SliceNeed&) = default;
};
/// Nothing: the request is for whole GPUs, or for units of the kubelet's.
[[nodiscard]] std::optional<SliceNeed> slice_need(const ContainerRequest& asked);

/// Whether a slice of this profile has what is needed, whatever it has beyond.
[[nodiscard]] bool serves(const MigTable& table, const MigProfile& profile, const SliceNeed& need);

/// The one of `among` that serves with the fewest memory slices, and of those the fewest compute
/// slices, of equals the first. Nothing: none does.
[[nodiscard]] std::optional<std::uint16_t> smallest_profile(const MigTable& table,
                                                            const SliceNeed& need,
                                                            ProfileSet among = kAllProfiles);

/// What one slice is of its card's compute: floor(1000·c/C).
[[nodiscard]] MilliGpu slice_compute(const MigTable& table, const MigProfile& profile);

/// So many thousandths of the card's memory slices, rounded down.
[[nodiscard]] std::int32_t axis_thousandths(const MigTable& table, AxisMask slices);

/// How much may still come: the memory slices of all placements of plain profiles for which there
/// is room, each counted for itself.
[[nodiscard]] std::int64_t openness(const MigTable& table, const MigUse& use);

/// The starts of a profile, of which there is at least one, the one first that leaves an empty card
/// the most open, of equals the highest.
[[nodiscard]] std::vector<std::uint16_t> starts_that_block_least(const MigTable& table,
                                                                 std::uint16_t profile);

}  // namespace snug
