// How a GPU that supports MIG (a card) can be partitioned. The card's memory is an axis of equal
// memory slices. A slice (NVIDIA: GPU instance) is a profile at a start on this axis. Each card has
// its own table of profiles. A table that a node publishes takes precedence over the built-in one
// (mig/card_catalog).
//
// Slices can exist together if and only if their ranges on the axis are disjoint and they use no
// more engines than the card has (NVIDIA MIG User Guide; nvml.h, nvmlGpuInstancePlacement_t). Plain
// data.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/units.hpp"

namespace snug::model {

/// A set of memory slices of a card: bit s is memory slice s of the axis.
using AxisMask = std::uint64_t;
inline constexpr int kMaxAxisSlices = 64;

/// The set of `size` memory slices from `start` on. Requires start + size <= kMaxAxisSlices.
[[nodiscard]] constexpr AxisMask axis_range(int start, int size) {
  const AxisMask ones = size >= kMaxAxisSlices ? ~AxisMask{0} : (AxisMask{1} << size) - 1;
  return ones << start;
}

/// Engines of a card that slices use besides memory and compute. A card may have fewer engines than
/// slices.
struct MigEngines {
  /// Media engines. Counted only on cards with profiles that use none (`-me`) or all (`+me.all`).
  int media = 0;
  /// The number of sets of media extensions, 0 or 1. A slice uses the set if its profile ends in
  /// `+me` or `+me.all`.
  int extension = 0;

  friend MigEngines operator+(MigEngines a, MigEngines b) {
    return {a.media + b.media, a.extension + b.extension};
  }
  [[nodiscard]] bool fits_in(MigEngines all) const {
    return media <= all.media && extension <= all.extension;
  }
  friend auto operator<=>(const MigEngines&, const MigEngines&) = default;
};

struct MigProfile {
  std::string name;         // `2g.10gb`, `1g.5gb+me`
  std::string alias{};      // a second name of the same profile; empty if there is none
  int compute_slices = 0;   // compute slices of one slice
  int size = 0;             // memory slices of one slice
  base::MebiBytes memory;   // usable memory of one slice; at most its part of the card's memory
  std::vector<int> starts;  // ascending; start + size <= the memory slices of the card
  MigEngines engines;       // engines that one slice uses

  /// Whether the name has no attribute such as `+me`. A share is served only by plain profiles.
  [[nodiscard]] bool is_plain() const { return name.find_first_of("+-") == std::string::npos; }
  friend auto operator<=>(const MigProfile&, const MigProfile&) = default;
};

struct MigTable {
  int memory_slices = 0;   // memory slices of the card, 1..kMaxAxisSlices
  int compute_slices = 0;  // compute slices of the card
  MigEngines engines;      // engines of the card
  std::vector<MigProfile> profiles;

  /// The position of the profile with this name or alias; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> find_profile(std::string_view name) const {
    const auto matching_profile = std::ranges::find_if(profiles, [&](const MigProfile& profile) {
      return profile.name == name || (!profile.alias.empty() && profile.alias == name);
    });
    if (matching_profile == profiles.end()) return std::nullopt;
    return static_cast<std::size_t>(matching_profile - profiles.begin());
  }
  friend auto operator<=>(const MigTable&, const MigTable&) = default;
};
using MigTablePtr = std::shared_ptr<const MigTable>;

/// A pointer to a table that many GPUs share. Comparisons compare the tables, not their addresses.
class MigTableRef {
 public:
  MigTableRef() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): converts from MigTablePtr.
  MigTableRef(MigTablePtr table) : table_(std::move(table)) {}

  [[nodiscard]] explicit operator bool() const { return table_ != nullptr; }
  const MigTable& operator*() const { return *table_; }
  const MigTable* operator->() const { return table_.get(); }
  [[nodiscard]] const MigTablePtr& pointer() const { return table_; }
  friend bool operator==(const MigTableRef& a, const MigTableRef& b) {
    return a.table_ == b.table_ || (a && b && *a == *b);
  }
  /// Compares the tables; null is less than any table.
  friend std::strong_ordering operator<=>(const MigTableRef& a, const MigTableRef& b) {
    if (a.table_ == b.table_) return std::strong_ordering::equal;
    if (!a || !b) return static_cast<bool>(a) <=> static_cast<bool>(b);
    return *a <=> *b;
  }

 private:
  MigTablePtr table_;  // null: the card's table is unknown
};

inline constexpr std::size_t kMaxMigProfiles = 64;  // profiles of one table

/// The profile and the start of a slice. The profile is a position in a MigTable.
struct MigPlacement {
  std::uint16_t profile = 0;  // position in MigTable::profiles
  std::uint16_t start = 0;

  [[nodiscard]] AxisMask range(const MigTable& table) const {
    return axis_range(start, table.profiles[profile].size);
  }
  friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// The memory slices and engines that all slices of one card use together.
struct MigUse {
  AxisMask taken_slices = 0;
  MigEngines engines;

  friend auto operator<=>(const MigUse&, const MigUse&) = default;
};

}  // namespace snug::model
