#include "snug/mig/layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::layouts_test {
namespace {

model::MigTable table_of(std::string_view card) { return *mig::find_mig_card(card, {})->table; }

/// The table with no place for this profile.
model::MigTable without(model::MigTable table, std::string_view profile) {
  table.profiles[table.find_profile(profile).value()].starts.clear();
  return table;
}

std::set<std::vector<std::uint16_t>> multisets(const std::vector<mig::MigLayout>& layouts) {
  std::set<std::vector<std::uint16_t>> all;
  for (const mig::MigLayout& layout : layouts) {
    std::vector<std::uint16_t> profiles;
    for (const model::MigPlacement slice : layout) profiles.push_back(slice.profile);
    std::ranges::sort(profiles);
    all.insert(profiles);
  }
  return all;
}

/// Another way to the same: each subset of the placements by its cells, one by one.
class Naive {
 public:
  Naive(const model::MigTable& table, bool plain_only) : table_(table) {
    for (std::size_t i = 0; i < table.profiles.size(); ++i) {
      if (plain_only && table.profiles[i].name.find_first_of("+-") != std::string::npos) continue;
      for (const int start : table.profiles[i].starts) {
        slices_.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(start)});
      }
    }
    choose(0, {});
  }

  std::set<mig::MigLayout> all;
  std::set<mig::MigLayout> maximal;

 private:
  [[nodiscard]] bool legal(const mig::MigLayout& layout) const {
    std::vector<int> cells(static_cast<std::size_t>(table_.memory_slices));
    model::MigEngines engines;
    for (const model::MigPlacement slice : layout) {
      const model::MigProfile& profile = table_.profiles[slice.profile];
      for (int cell = 0; cell < profile.size; ++cell) {
        if (++cells.at(static_cast<std::size_t>(slice.start + cell)) > 1) return false;
      }
      engines.media += profile.engines.media;
      engines.extension += profile.engines.extension;
    }
    return engines.media <= table_.engines.media && engines.extension <= table_.engines.extension;
  }

  void choose(std::size_t next, const mig::MigLayout& layout) {
    if (!legal(layout)) return;
    if (next < slices_.size()) {
      choose(next + 1, layout);
      choose(next + 1, with(layout, slices_[next]));
      return;
    }
    mig::MigLayout sorted = layout;
    std::ranges::sort(sorted, {}, &model::MigPlacement::start);
    all.insert(sorted);
    if (std::ranges::none_of(
            slices_, [&](model::MigPlacement slice) { return legal(with(layout, slice)); })) {
      maximal.insert(sorted);
    }
  }

  static mig::MigLayout with(mig::MigLayout layout, model::MigPlacement slice) {
    layout.push_back(slice);
    return layout;
  }

  const model::MigTable& table_;
  std::vector<model::MigPlacement> slices_;
};

TEST(MigLayoutsTest, CountsAreAsPublished) {
  struct Row {
    std::string_view what;
    model::MigTable table;
    bool plain_only;
    std::size_t layouts;
    std::size_t multisets;
  };
  const model::MigTable a100 = table_of("A100-40GB");
  const std::vector<Row> rows = {
      {"plain", a100, true, 78, 38},
      {"without the double-memory 1g", without(a100, "1g.10gb"), true, 19, 14},
      {"with +me", a100, false, 239, 64},
      {"A30", table_of("A30"), true, 5, 4},
  };
  for (const Row& row : rows) {
    const auto layouts = mig::maximal_layouts(row.table, row.plain_only);
    EXPECT_EQ(layouts.size(), row.layouts) << row.what;
    EXPECT_EQ(multisets(layouts).size(), row.multisets) << row.what;
  }
}

TEST(MigLayoutsTest, EveryCardHasTheLayoutsThatASearchOfAllSubsetsFinds) {
  for (const mig::MigCard& card : mig::mig_cards()) {
    const model::MigTable& table = *card.table;
    const Naive naive(table, false);
    const auto as_list = [](const std::set<mig::MigLayout>& set) {
      return std::vector<mig::MigLayout>(set.begin(), set.end());
    };
    EXPECT_EQ(mig::all_layouts(table), as_list(naive.all)) << card.name;
    EXPECT_EQ(mig::maximal_layouts(table, false), as_list(naive.maximal)) << card.name;
    EXPECT_EQ(mig::maximal_layouts(table, true), as_list(Naive(table, true).maximal)) << card.name;
    EXPECT_LT(naive.all.size(), 2'500U) << card.name;
  }
}

TEST(MigLayoutsTest, RoomIsWhatALargerLayoutHas) {
  for (const mig::MigCard& card : mig::mig_cards()) {
    const model::MigTable& table = *card.table;
    const auto layouts = mig::all_layouts(table);
    const std::set<mig::MigLayout> known(layouts.begin(), layouts.end());
    for (const mig::MigLayout& layout : layouts) {
      model::MigUse use;
      for (const model::MigPlacement slice : layout) {
        ASSERT_TRUE(mig::slice_fits(table, use, slice));
        use = mig::with_slice(table, use, slice);
      }
      for (const model::MigPlacement slice : mig::all_placements(table)) {
        mig::MigLayout larger = layout;
        larger.insert(
            std::ranges::upper_bound(larger, slice.start, {}, &model::MigPlacement::start), slice);
        ASSERT_EQ(mig::slice_fits(table, use, slice), known.contains(larger)) << card.name;
      }
    }
  }
}

TEST(MigLayoutsTest, PlacementsAreByProfileThenByStart) {
  const model::MigTable a30 = table_of("A30");
  const std::vector<model::MigPlacement> expected = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0},
                                                     {1, 1}, {1, 2}, {1, 3}, {2, 0}, {2, 2},
                                                     {3, 0}, {3, 2}, {4, 0}};
  EXPECT_EQ(mig::all_placements(a30), expected);
}

/// The names of each layout's slices, by their starts.
std::set<std::vector<std::string>> named(const model::MigTable& table) {
  std::set<std::vector<std::string>> all;
  for (const mig::MigLayout& layout : mig::maximal_layouts(table, false)) {
    std::vector<std::string> names;
    for (const model::MigPlacement slice : layout)
      names.push_back(table.profiles[slice.profile].name);
    all.insert(names);
  }
  return all;
}

TEST(MigLayoutsTest, EnginesOfTheRtxPro6000AreDrawnOnce) {
  const model::MigTable table = table_of("RTX-PRO-6000");
  std::size_t with_all = 0;
  for (const auto& names : named(table)) {
    const auto ends = [&](std::string_view end) {
      return std::ranges::count_if(names,
                                   [&](const std::string& name) { return name.ends_with(end); });
    };
    EXPECT_LE(ends("+me") + ends("+me.all"), 1) << testing::PrintToString(names);
    if (ends("+me.all") == 0) continue;
    ++with_all;
    EXPECT_EQ(ends("-me"), std::ssize(names) - 1) << testing::PrintToString(names);
  }
  EXPECT_GT(with_all, 0U);
  EXPECT_TRUE(named(table).contains({"2g.48gb+me.all", "1g.24gb-me", "1g.24gb-me"}));
  EXPECT_TRUE(named(table).contains({"1g.24gb+me", "1g.24gb", "2g.48gb+gfx"}));
  EXPECT_FALSE(named(table).contains({"2g.48gb+me.all", "2g.48gb"}));
}

TEST(MigLayoutsTest, OneExtensionOfEitherSizeOnAnA30) {
  const model::MigTable table = table_of("A30");
  EXPECT_TRUE(named(table).contains({"2g.12gb+me", "2g.12gb"}));
  EXPECT_FALSE(named(table).contains({"2g.12gb+me", "2g.12gb+me"}));
  EXPECT_FALSE(named(table).contains({"1g.6gb+me", "1g.6gb", "2g.12gb+me"}));
}

model::MigProfile anywhere(std::string name, int size) {
  model::MigProfile profile{.name = std::move(name), .size = size, .memory{1}};
  for (int start = 0; start + size <= model::kMaxAxisSlices; ++start)
    profile.starts.push_back(start);
  return profile;
}

TEST(MigLayoutsTest, ACardWithoutPlacementsHasTheEmptyLayout) {
  const model::MigTable table = without(*mig::build_mig_table({anywhere("1g.5gb", 64)}), "1g.5gb");
  EXPECT_EQ(mig::maximal_layouts(table, false), std::vector<mig::MigLayout>{{}});
  EXPECT_EQ(mig::all_layouts(table), std::vector<mig::MigLayout>{{}});
}

TEST(MigLayoutsTest, ALongAxisWithOneMaximalLayoutIsNoTrouble) {
  const model::MigTablePtr table = mig::build_mig_table({anywhere("1g.5gb", 1)});
  const auto layouts = mig::maximal_layouts(*table, true);
  ASSERT_EQ(layouts.size(), 1U);
  EXPECT_EQ(layouts.front().size(), 64U);
}

// Without bounds these would not end in our lifetime.
TEST(MigLayoutsTest, TooManyLayoutsAreNoLayouts) {
  std::vector<model::MigProfile> profiles;
  for (int size = 1; size <= 8; ++size) {
    profiles.push_back(anywhere("1g." + std::to_string(size) + "gb", size));
  }
  const model::MigTablePtr many = mig::build_mig_table(profiles);
  ASSERT_TRUE(many);
  EXPECT_TRUE(mig::all_layouts(*many).empty());
  EXPECT_TRUE(mig::maximal_layouts(*many, false).empty());
  EXPECT_TRUE(mig::maximal_layouts(*many, true).empty());
}

// Each slice draws of engines that never come to an end, so that no gap ends a way, and any of the
// axis' subsets is looked at for the one layout that is maximal.
TEST(MigLayoutsTest, FewLayoutsThatTakeTooLongAreNone) {
  const model::MigTablePtr table =
      mig::build_mig_table({anywhere("1g.5gb", 1), anywhere("99g.9gb-me", 64)});
  ASSERT_TRUE(table);
  EXPECT_TRUE(mig::maximal_layouts(*table, false).empty());
}

TEST(MigLayoutsTest, TheLargestNumberOfLayoutsIsStillGiven) {
  // 16 places that are taken or not.
  model::MigProfile profile{.name = "1g.5gb", .size = 1, .memory{1}};
  for (int start = 0; start < 16; ++start) profile.starts.push_back(start);
  EXPECT_EQ(mig::all_layouts(*mig::build_mig_table({profile})).size(), base::kMaxMigLayouts);
  profile.starts.push_back(16);
  EXPECT_TRUE(mig::all_layouts(*mig::build_mig_table({profile})).empty());
}

}  // namespace
}  // namespace snug::layouts_test
