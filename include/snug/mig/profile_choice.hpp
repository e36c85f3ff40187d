// Chooses the profile of a card that serves a request, and the starts at which a slice of it blocks
// the fewest other slices. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/mig/layouts.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/request.hpp"

namespace snug::mig {

/// A set of profiles of one table: bit i is the profile at position i.
using ProfileSet = std::uint64_t;
inline constexpr ProfileSet kAllProfiles = ~ProfileSet{0};

/// The minimum that a slice needs to serve a request. Exactly one of `profile`, `memory` and
/// `thousandths` is set.
struct SliceRequirement {
  std::string profile;  // this profile; empty: any plain profile that is large enough
  base::MebiBytes memory;
  int thousandths = 0;  // of the memory slices of the axis
  int compute_percent = 0;

  friend auto operator<=>(const SliceRequirement&, const SliceRequirement&) = default;
};
/// Nullopt: the request is for whole GPUs, or for devices that the kubelet assigns.
[[nodiscard]] std::optional<SliceRequirement> slice_requirement(
    const model::ContainerRequest& asked);

/// Whether a slice of this profile is large enough for `need`.
[[nodiscard]] bool satisfies(const model::MigTable& table, const model::MigProfile& profile,
                             const SliceRequirement& requirement);

/// The profile of `among` that serves `need` with the fewest memory slices; ties: the fewest
/// compute slices, then the first. Nullopt: no profile serves it.
[[nodiscard]] std::optional<std::uint16_t> smallest_profile(const model::MigTable& table,
                                                            const SliceRequirement& requirement,
                                                            ProfileSet among = kAllProfiles);

/// The compute of one slice: floor(1000·c/C), with c of the card's C compute slices.
[[nodiscard]] base::MilliGpu slice_compute(const model::MigTable& table,
                                           const model::MigProfile& profile);

/// The part of the card's axis that `slices` are, in thousandths, rounded down.
[[nodiscard]] std::int32_t axis_thousandths(const model::MigTable& table, model::AxisMask slices);

/// How many placements remain possible: the sum of the memory slices of every placement of a plain
/// profile that fits beside `use`. Overlapping placements all count.
[[nodiscard]] std::int64_t free_placement_slices(const model::MigTable& table,
                                                 const model::MigUse& use);

/// The starts of a profile, best first: by the free_placement_slices() that the slice leaves on an
/// empty card, ties by the highest start. Requires a profile with at least one start.
[[nodiscard]] std::vector<std::uint16_t> least_blocking_starts(const model::MigTable& table,
                                                               std::uint16_t profile);

}  // namespace snug::mig
