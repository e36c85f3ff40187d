#include "snug/mig/layouts.hpp"

#include <algorithm>
#include <array>

#include "snug/base/limits.hpp"

namespace snug {
namespace {

/// Enumerates layouts depth first, by ascending start of the slices. A maximal layout has no gap in
/// which a slice without engines fits, so the search for maximal layouts stops at such a gap.
class Search {
 public:
  Search(const MigTable& table, std::vector<MigPlacement> slices, bool maximal)
      : table_(table), slices_(std::move(slices)), maximal_(maximal) {
    std::ranges::sort(slices_, {}, &MigPlacement::start);
    filled_by_.fill(maximal ? table.axis + 1 : kMostAxisSlices + 1);
    if (maximal) find_fillers();
  }

  /// Empty: a limit was reached.
  std::vector<MigLayout> all() {
    extend({}, 0, 0);
    if (!within_bounds()) return {};
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  /// filled_by_[p]: the smallest end of a slice without engines that starts at p or later.
  void find_fillers() {
    for (const MigPlacement slice : slices_) {
      const MigProfile& profile = table_.profiles[slice.profile];
      if (profile.engines != MigEngines{}) continue;
      for (std::size_t from = 0; from <= slice.start; ++from) {
        filled_by_[from] = std::min(filled_by_[from], slice.start + profile.size);
      }
    }
  }

  [[nodiscard]] bool within_bounds() const {
    return steps_ <= kMostMigLayoutSteps && found_.size() <= kMostMigLayouts;
  }

  [[nodiscard]] bool can_grow(const MigUse& use) {
    return std::ranges::any_of(slices_, [&](MigPlacement slice) {
      ++steps_;
      return has_room(table_, use, slice);
    });
  }

  /// Adds to `layout_`, which uses `use` and ends at `end`, each slice from position `next` on.
  // NOLINTNEXTLINE(misc-no-recursion): at most as deep as the axis has slices
  void extend(const MigUse& use, int end, std::size_t next) {
    const int reach = filled_by_[static_cast<std::size_t>(end)];
    if (reach > table_.axis && (!maximal_ || !can_grow(use))) found_.push_back(layout_);
    for (std::size_t i = next; i < slices_.size() && within_bounds(); ++i) {
      ++steps_;
      const MigPlacement slice = slices_[i];
      if (slice.start < end) continue;
      if (slice.start >= reach) break;
      if (!has_room(table_, use, slice)) continue;
      layout_.push_back(slice);
      extend(with_slice(table_, use, slice), slice.start + table_.profiles[slice.profile].size,
             i + 1);
      layout_.pop_back();
    }
  }

  const MigTable& table_;
  std::vector<MigPlacement> slices_;
  const bool maximal_;
  std::array<int, kMostAxisSlices + 1> filled_by_{};
  MigLayout layout_;
  std::vector<MigLayout> found_;
  std::int64_t steps_ = 0;
};

}  // namespace

bool has_room(const MigTable& table, const MigUse& use, MigPlacement slice) {
  return (use.taken & slice.range(table)) == 0 &&
         (use.engines + table.profiles[slice.profile].engines).within(table.engines);
}

MigUse with_slice(const MigTable& table, MigUse use, MigPlacement slice) {
  return {.taken = use.taken | slice.range(table),
          .engines = use.engines + table.profiles[slice.profile].engines};
}

std::vector<MigPlacement> placements(const MigTable& table) {
  std::vector<MigPlacement> all;
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    for (const int start : table.profiles[i].starts) {
      all.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(start)});
    }
  }
  return all;
}

/// All slices of a profile have one size, so taking the first that fits is optimal.
int most_slices(const MigTable& table, std::size_t profile) {
  MigUse use;
  int most = 0;
  for (const MigPlacement slice : placements(table)) {
    if (slice.profile != profile || !has_room(table, use, slice)) continue;
    use = with_slice(table, use, slice);
    ++most;
  }
  return most;
}

std::vector<MigLayout> maximal_layouts(const MigTable& table, bool plain_only) {
  std::vector<MigPlacement> slices = placements(table);
  if (plain_only) {
    std::erase_if(slices,
                  [&](MigPlacement slice) { return !table.profiles[slice.profile].plain(); });
  }
  return Search(table, std::move(slices), true).all();
}

std::vector<MigLayout> all_layouts(const MigTable& table) {
  return Search(table, placements(table), false).all();
}

}  // namespace snug
