// What a MIG-capable card can be divided into. A slice (NVIDIA: GPU instance) is a profile at a
// start on the card's memory-slice axis. A profile's name means nothing without the card: tables
// differ by model, and one that a node publishes wins over the built-in one (mig/catalog).
//
// Two slices go together if and only if their ranges on the axis are disjoint and no engine is
// drawn more often than the card has it (NVIDIA MIG User Guide; nvml.h,
// nvmlGpuInstancePlacement_t). Plain data.
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

namespace snug {

/// Memory slices of a card's axis: bit s is slice s.
using AxisMask = std::uint64_t;
inline constexpr int kMostAxisSlices = 64;

/// The slices from `start` on, `size` of them; all on the axis.
[[nodiscard]] constexpr AxisMask axis_range(int start, int size) {
  const AxisMask ones = size >= kMostAxisSlices ? ~AxisMask{0} : (AxisMask{1} << size) - 1;
  return ones << start;
}

/// What slices draw from their card besides memory: engines that not all of them can have.
struct MigEngines {
  /// The media engines, where a card lets slices do without (`-me`) or take all (`+me.all`).
  int media = 0;
  /// What a card has once, for the slice whose name ends in `+me` or `+me.all`.
  int extension = 0;

  friend MigEngines operator+(MigEngines a, MigEngines b) {
    return {a.media + b.media, a.extension + b.extension};
  }
  [[nodiscard]] bool within(MigEngines all) const {
    return media <= all.media && extension <= all.extension;
  }
  friend auto operator<=>(const MigEngines&, const MigEngines&) = default;
};

struct MigProfile {
  std::string name;         // `2g.10gb`, `1g.5gb+me`
  std::string alias{};      // another spelling of the same; empty: there is none
  int compute = 0;          // compute slices
  int size = 0;             // memory slices
  MebiBytes memory;         // what a slice has for its holder: less than its part of the card
  std::vector<int> starts;  // ascending; start + size is on the axis
  MigEngines engines;       // drawn by one slice

  /// Neither `+` nor `-`: what a request that names no profile may get.
  [[nodiscard]] bool plain() const { return name.find_first_of("+-") == std::string::npos; }
  friend auto operator<=>(const MigProfile&, const MigProfile&) = default;
};

struct MigTable {
  int axis = 0;        // memory slices, 1..kMostAxisSlices
  int compute = 0;     // compute slices
  MigEngines engines;  // that the card has
  std::vector<MigProfile> profiles;

  /// The position of the profile with this name or alias; nothing: the card has none.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find_if(profiles, [&](const MigProfile& profile) {
      return profile.name == name || (!profile.alias.empty() && profile.alias == name);
    });
    if (found == profiles.end()) return std::nullopt;
    return static_cast<std::size_t>(found - profiles.begin());
  }
  friend auto operator<=>(const MigTable&, const MigTable&) = default;
};
using MigTablePtr = std::shared_ptr<const MigTable>;

/// A table that many GPUs share: equal where the tables are, whichever of equal ones it points to.
class MigTableRef {
 public:
  MigTableRef() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is the pointer, but for how it compares.
  MigTableRef(MigTablePtr table) : table_(std::move(table)) {}

  [[nodiscard]] explicit operator bool() const { return table_ != nullptr; }
  const MigTable& operator*() const { return *table_; }
  const MigTable* operator->() const { return table_.get(); }
  [[nodiscard]] const MigTablePtr& pointer() const { return table_; }
  friend bool operator==(const MigTableRef& a, const MigTableRef& b) {
    return a.table_ == b.table_ || (a && b && *a == *b);
  }
  /// By content, none before all.
  friend std::strong_ordering operator<=>(const MigTableRef& a, const MigTableRef& b) {
    if (a.table_ == b.table_) return std::strong_ordering::equal;
    if (!a || !b) return static_cast<bool>(a) <=> static_cast<bool>(b);
    return *a <=> *b;
  }

 private:
  MigTablePtr table_;  // null: no table is known
};

inline constexpr std::size_t kMostMigProfiles = 64;  // of one table

/// A slice by its table.
struct MigPlacement {
  std::uint16_t profile = 0;  // position in MigTable::profiles
  std::uint16_t start = 0;

  [[nodiscard]] AxisMask range(const MigTable& table) const {
    return axis_range(start, table.profiles[profile].size);
  }
  friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// What is taken of one card.
struct MigUse {
  AxisMask taken = 0;
  MigEngines engines;

  friend auto operator<=>(const MigUse&, const MigUse&) = default;
};

}  // namespace snug
