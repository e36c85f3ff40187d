// Chooses the smallest profile of a MIG card that serves a request, and the starts at which a slice
// of a profile blocks the fewest other slices. Pure.
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

/// A set of profiles of one table: bit i is the profile at position i of MigTable::profiles.
using ProfileSet = std::uint64_t;
inline constexpr ProfileSet kAllProfiles = ~ProfileSet{0};

/// What a slice must have to serve a request. Exactly one of `profile`, `memory` and `thousandths`
/// is set.
struct SliceRequirement {
  std::string profile;  // name of the profile; if empty, any plain profile may serve the request
  base::MebiBytes memory;
  int thousandths = 0;  // required part of the card's memory slices
  int compute_percent = 0;

  friend auto operator<=>(const SliceRequirement&, const SliceRequirement&) = default;
};
/// The requirement of a request for a share or a slice. Nullopt if the request is for whole GPUs or
/// kubelet-assigned devices.
[[nodiscard]] std::optional<SliceRequirement> slice_requirement(
    const model::ContainerRequest& container_request);

/// Whether a slice of `profile` meets `requirement`.
[[nodiscard]] bool satisfies(const model::MigTable& table, const model::MigProfile& profile,
                             const SliceRequirement& requirement);

/// The profile of the set `among` that meets `requirement` with the fewest memory slices. Ties are
/// broken by the fewest compute slices, then by the lowest position. Nullopt if no profile meets
/// it.
[[nodiscard]] std::optional<std::uint16_t> smallest_profile(const model::MigTable& table,
                                                            const SliceRequirement& requirement,
                                                            ProfileSet among = kAllProfiles);

/// The compute of one slice with c of the card's C compute slices: floor(1000·c/C).
[[nodiscard]] base::MilliGpu slice_compute(const model::MigTable& table,
                                           const model::MigProfile& profile);

/// The number of memory slices in `slices`, in thousandths of all memory slices, rounded down.
[[nodiscard]] std::int32_t axis_thousandths(const model::MigTable& table, model::AxisMask slices);

/// A measure of how many placements are still possible on a card in the state `use`: the sum of
/// the sizes, in memory slices, of all placements of plain profiles that fit. Overlapping
/// placements are all counted.
[[nodiscard]] std::int64_t free_placement_slices(const model::MigTable& table,
                                                 const model::MigUse& use);

/// The starts of a profile, best first. A start is better if free_placement_slices() is higher
/// after a slice has been placed there on an empty card. Ties are broken by the higher start.
[[nodiscard]] std::vector<std::uint16_t> least_blocking_starts(const model::MigTable& table,
                                                               std::uint16_t profile);

}  // namespace snug::mig
