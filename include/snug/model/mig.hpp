// How a MIG-capable card can be partitioned. A slice (NVIDIA: GPU instance) is a profile at a start
// on the card's axis of memory slices. A profile's name has a meaning only for one card: tables
// differ by model, and a table that a node publishes takes precedence over the built-in one
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

/// Memory slices of a card's axis: bit s is slice s.
using AxisMask = std::uint64_t;
inline constexpr int kMaxAxisSlices = 64;

/// `size` slices from `start` on. Requires that they end within kMaxAxisSlices.
[[nodiscard]] constexpr AxisMask axis_range(int start, int size) {
  const AxisMask ones = size >= kMaxAxisSlices ? ~AxisMask{0} : (AxisMask{1} << size) - 1;
  return ones << start;
}

/// What slices use of their card besides memory and compute: engines that are too few for every
/// slice.
struct MigEngines {
  /// Media engines, on a card with profiles that use none (`-me`) or all (`+me.all`) of them.
  int media = 0;
  /// The one set of media extensions, used by a slice whose name ends in `+me` or `+me.all`.
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
  std::string alias{};      // a second spelling of the name; empty: none
  int compute_slices = 0;   // compute slices
  int size = 0;             // memory slices
  base::MebiBytes memory;   // usable memory of a slice: less than its part of the card
  std::vector<int> starts;  // ascending; start + size does not exceed the axis
  MigEngines engines;       // used by one slice

  /// Whether the name has no attribute. A request that names no profile gets a plain one.
  [[nodiscard]] bool is_plain() const { return name.find_first_of("+-") == std::string::npos; }
  friend auto operator<=>(const MigProfile&, const MigProfile&) = default;
};

struct MigTable {
  int memory_slices = 0;   // memory slices, 1..kMostAxisSlices
  int compute_slices = 0;  // compute slices
  MigEngines engines;      // of the card
  std::vector<MigProfile> profiles;

  /// The position of the profile with this name or alias; nullopt: there is none.
  [[nodiscard]] std::optional<std::size_t> find_profile(std::string_view name) const {
    const auto found = std::ranges::find_if(profiles, [&](const MigProfile& profile) {
      return profile.name == name || (!profile.alias.empty() && profile.alias == name);
    });
    if (found == profiles.end()) return std::nullopt;
    return static_cast<std::size_t>(found - profiles.begin());
  }
  friend auto operator<=>(const MigTable&, const MigTable&) = default;
};
using MigTablePtr = std::shared_ptr<const MigTable>;

/// A table that many GPUs share. Compares by the content of the table, not by address.
class MigTableRef {
 public:
  MigTableRef() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a MigTablePtr that differs only in comparison.
  MigTableRef(MigTablePtr table) : table_(std::move(table)) {}

  [[nodiscard]] explicit operator bool() const { return table_ != nullptr; }
  const MigTable& operator*() const { return *table_; }
  const MigTable* operator->() const { return table_.get(); }
  [[nodiscard]] const MigTablePtr& pointer() const { return table_; }
  friend bool operator==(const MigTableRef& a, const MigTableRef& b) {
    return a.table_ == b.table_ || (a && b && *a == *b);
  }
  /// By content; null is least.
  friend std::strong_ordering operator<=>(const MigTableRef& a, const MigTableRef& b) {
    if (a.table_ == b.table_) return std::strong_ordering::equal;
    if (!a || !b) return static_cast<bool>(a) <=> static_cast<bool>(b);
    return *a <=> *b;
  }

 private:
  MigTablePtr table_;  // null: the card's table is unknown
};

inline constexpr std::size_t kMaxMigProfiles = 64;  // of one table

/// A slice as a profile of a table and a start.
struct MigPlacement {
  std::uint16_t profile = 0;  // position in MigTable::profiles
  std::uint16_t start = 0;

  [[nodiscard]] AxisMask range(const MigTable& table) const {
    return axis_range(start, table.profiles[profile].size);
  }
  friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// What the slices of one card use.
struct MigUse {
  AxisMask taken_slices = 0;
  MigEngines engines;

  friend auto operator<=>(const MigUse&, const MigUse&) = default;
};

}  // namespace snug::model
