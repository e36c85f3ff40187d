#include "snug/mig/layouts.hpp"

#include <algorithm>
#include <array>

#include "snug/base/limits.hpp"

namespace snug::mig {
namespace {

/// Enumerates layouts by depth-first search. Slices are added in ascending order of their starts. A
/// maximal layout has no gap in which a slice that uses no engines fits, so the search for maximal
/// layouts abandons each layout that leaves such a gap.
class LayoutSearch {
 public:
  LayoutSearch(const model::MigTable& table, std::vector<model::MigPlacement> slices, bool maximal)
      : table_(table), slices_(std::move(slices)), maximal_(maximal) {
    std::ranges::sort(slices_, {}, &model::MigPlacement::start);
    fill_limit_.fill(maximal ? table.memory_slices + 1 : model::kMaxAxisSlices + 1);
    if (maximal) find_fill_limits();
  }

  /// Returns the layouts, sorted; empty if a limit was reached.
  std::vector<MigLayout> run() {
    add_slices({}, 0, 0);
    if (!within_limits()) return {};
    std::ranges::sort(layouts_);
    return std::move(layouts_);
  }

 private:
  /// Sets fill_limit_[p] to the smallest end of all slices that start at memory slice p or later
  /// and use no engines. If a layout has no slice from p up to this end, one of these slices can be
  /// added.
  void find_fill_limits() {
    for (const model::MigPlacement slice : slices_) {
      const model::MigProfile& profile = table_.profiles[slice.profile];
      if (profile.engines != model::MigEngines{}) continue;
      for (std::size_t memory_slice = 0; memory_slice <= slice.start; ++memory_slice) {
        fill_limit_[memory_slice] = std::min(fill_limit_[memory_slice], slice.start + profile.size);
      }
    }
  }

  [[nodiscard]] bool within_limits() const {
    return steps_ <= base::kMaxMigLayoutSteps && layouts_.size() <= base::kMaxMigLayouts;
  }

  [[nodiscard]] bool can_grow(const model::MigUse& use) {
    return std::ranges::any_of(slices_, [&](model::MigPlacement slice) {
      ++steps_;
      return slice_fits(table_, use, slice);
    });
  }

  /// Adds slices of `slices_`, from position `first_slice` on, to `layout_` in all possible ways.
  /// `use` is what the slices of `layout_` use; `layout_end` is the end of the last of them.
  // NOLINTNEXTLINE(misc-no-recursion): the depth is at most the number of memory slices
  void add_slices(const model::MigUse& use, int layout_end, std::size_t first_slice) {
    const int reach = fill_limit_[static_cast<std::size_t>(layout_end)];
    if (reach > table_.memory_slices && (!maximal_ || !can_grow(use))) layouts_.push_back(layout_);
    for (std::size_t i = first_slice; i < slices_.size() && within_limits(); ++i) {
      ++steps_;
      const model::MigPlacement slice = slices_[i];
      if (slice.start < layout_end) continue;
      if (slice.start >= reach) break;
      if (!slice_fits(table_, use, slice)) continue;
      layout_.push_back(slice);
      add_slices(with_slice(table_, use, slice), slice.start + table_.profiles[slice.profile].size,
                 i + 1);
      layout_.pop_back();
    }
  }

  const model::MigTable& table_;
  std::vector<model::MigPlacement> slices_;
  const bool maximal_;
  std::array<int, model::kMaxAxisSlices + 1> fill_limit_{};
  MigLayout layout_;
  std::vector<MigLayout> layouts_;
  std::int64_t steps_ = 0;
};

}  // namespace

bool slice_fits(const model::MigTable& table, const model::MigUse& use, model::MigPlacement slice) {
  return (use.taken_slices & slice.range(table)) == 0 &&
         (use.engines + table.profiles[slice.profile].engines).fits_in(table.engines);
}

model::MigUse with_slice(const model::MigTable& table, model::MigUse use,
                         model::MigPlacement slice) {
  return {.taken_slices = use.taken_slices | slice.range(table),
          .engines = use.engines + table.profiles[slice.profile].engines};
}

std::vector<model::MigPlacement> all_placements(const model::MigTable& table) {
  std::vector<model::MigPlacement> placements;
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    for (const int start : table.profiles[i].starts) {
      placements.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(start)});
    }
  }
  return placements;
}

/// All slices of a profile have the same size, so adding each one that fits, in ascending order of
/// starts, gives the largest number.
int max_slices(const model::MigTable& table, std::size_t profile) {
  model::MigUse use;
  int slice_count = 0;
  for (const model::MigPlacement slice : all_placements(table)) {
    if (slice.profile != profile || !slice_fits(table, use, slice)) continue;
    use = with_slice(table, use, slice);
    ++slice_count;
  }
  return slice_count;
}

std::vector<MigLayout> maximal_layouts(const model::MigTable& table, bool plain_only) {
  std::vector<model::MigPlacement> slices = all_placements(table);
  if (plain_only) {
    std::erase_if(slices, [&](model::MigPlacement slice) {
      return !table.profiles[slice.profile].is_plain();
    });
  }
  return LayoutSearch(table, std::move(slices), true).run();
}

std::vector<MigLayout> all_layouts(const model::MigTable& table) {
  return LayoutSearch(table, all_placements(table), false).run();
}

}  // namespace snug::mig
