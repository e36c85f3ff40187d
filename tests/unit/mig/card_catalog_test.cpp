#include "snug/mig/card_catalog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "snug/mig/layouts.hpp"

namespace snug::catalog_test {
namespace {

struct Expected {
  std::string_view name;
  int compute;
  int size;
  std::vector<int> starts;
  std::int64_t mib;
  int most;
};

const mig::MigCard& card(std::string_view name) {
  for (const mig::MigCard& each : mig::mig_cards()) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no card " << name;
  return mig::mig_cards().front();
}

void expect_profiles(std::string_view name, const std::vector<Expected>& rows) {
  const model::MigTable& table = *card(name).table;
  ASSERT_EQ(table.profiles.size(), rows.size()) << name;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const model::MigProfile& profile = table.profiles[i];
    EXPECT_EQ(profile.name, rows[i].name) << name;
    EXPECT_EQ(profile.compute_slices, rows[i].compute) << name << ' ' << profile.name;
    EXPECT_EQ(profile.size, rows[i].size) << name << ' ' << profile.name;
    EXPECT_EQ(profile.starts, rows[i].starts) << name << ' ' << profile.name;
    EXPECT_EQ(profile.memory.value, rows[i].mib) << name << ' ' << profile.name;
    EXPECT_EQ(mig::max_slices(table, i), rows[i].most) << name << ' ' << profile.name;
  }
}

TEST(MigCatalogTest, TheCardsAreInTheOrderOfGenerations) {
  std::vector<std::string> names;
  for (const mig::MigCard& each : mig::mig_cards()) names.push_back(each.name);
  const std::vector<std::string> expected = {
      "A30",       "A100-40GB",  "A100-80GB",    "H100-80GB",    "H100-94GB",
      "H100-96GB", "H200-141GB", "GH200-144GB",  "B200",         "GB200",
      "B300",      "GB300",      "RTX-PRO-6000", "RTX-PRO-5000", "RTX-PRO-4500"};
  EXPECT_EQ(names, expected);
}

struct SevenSlices {
  std::string_view card;
  std::int64_t memory;
  std::vector<std::string> names;  // 1g, 1g of double memory, 2g, 3g, 4g, 7g
  std::vector<std::int64_t> mib;   // of 1, 2, 4 and 8 memory slices
};
const std::vector<SevenSlices> kSevenSliceCards = {
    {"A100-40GB",
     40960,
     {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"},
     {4864, 9856, 19968, 40192}},
    {"A100-80GB",
     81920,
     {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
     {9856, 19968, 40192, 80384}},
    {"H100-80GB",
     81920,
     {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"},
     {9984, 20096, 40448, 81152}},
    {"H100-94GB",
     96256,
     {"1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"},
     {11008, 22144, 47488, 95360}},
    {"H100-96GB",
     98304,
     {"1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"},
     {12032, 24064, 48128, 96256}},
    {"H200-141GB",
     144384,
     {"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"},
     {16384, 33280, 66560, 143360}},
    {"GH200-144GB",
     147456,
     {"1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"},
     {18432, 36864, 73728, 147456}},
    {"B200",
     184320,
     {"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"},
     {23040, 46080, 92160, 184320}},
    {"GB200",
     190464,
     {"1g.23gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"},
     {23808, 47616, 95232, 190464}},
    {"B300",
     275456,
     {"1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb"},
     {34432, 68864, 137728, 275456}},
    {"GB300",
     284672,
     {"1g.35gb", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb"},
     {35584, 71168, 142336, 284672}}};

TEST(MigCatalogTest, SevenSliceCardsDifferInNamesAndMemoryAlone) {
  for (const SevenSlices& row : kSevenSliceCards) {
    const std::string extended = row.names[0] + "+me";
    expect_profiles(row.card, {{row.names[0], 1, 1, {0, 1, 2, 3, 4, 5, 6}, row.mib[0], 7},
                               {extended, 1, 1, {0, 1, 2, 3, 4, 5, 6}, row.mib[0], 1},
                               {row.names[1], 1, 2, {0, 2, 4, 6}, row.mib[1], 4},
                               {row.names[2], 2, 2, {0, 2, 4}, row.mib[1], 3},
                               {row.names[3], 3, 4, {0, 4}, row.mib[2], 2},
                               {row.names[4], 4, 4, {0}, row.mib[2], 1},
                               {row.names[5], 7, 8, {0}, row.mib[3], 1}});
    EXPECT_EQ(card(row.card).memory.value, row.memory);
    const model::MigTable& table = *card(row.card).table;
    EXPECT_EQ(table.memory_slices, 8);
    EXPECT_EQ(table.compute_slices, 7);
    EXPECT_EQ(table.engines, (model::MigEngines{.media = 0, .extension = 1}));
  }
}

TEST(MigCatalogTest, TheOtherCardsHaveAnAxisOfTheirOwn) {
  expect_profiles("A30", {{"1g.6gb", 1, 1, {0, 1, 2, 3}, 5836, 4},
                          {"1g.6gb+me", 1, 1, {0, 1, 2, 3}, 5836, 1},
                          {"2g.12gb", 2, 2, {0, 2}, 11672, 2},
                          {"2g.12gb+me", 2, 2, {0, 2}, 11672, 1},
                          {"4g.24gb", 4, 4, {0}, 23344, 1}});
  expect_profiles("RTX-PRO-6000", {{"1g.24gb", 1, 3, {0, 3, 6, 9}, 24192, 4},
                                   {"1g.24gb+me", 1, 3, {0, 3, 6, 9}, 24192, 1},
                                   {"1g.24gb+gfx", 1, 3, {0, 3, 6, 9}, 24192, 4},
                                   {"1g.24gb+me.all", 1, 3, {0, 3, 6, 9}, 24192, 1},
                                   {"1g.24gb-me", 1, 3, {0, 3, 6, 9}, 24192, 4},
                                   {"2g.48gb", 2, 6, {0, 6}, 48512, 2},
                                   {"2g.48gb+gfx", 2, 6, {0, 6}, 48512, 2},
                                   {"2g.48gb+me.all", 2, 6, {0, 6}, 48512, 1},
                                   {"2g.48gb-me", 2, 6, {0, 6}, 48512, 2},
                                   {"4g.96gb", 4, 12, {0}, 97408, 1},
                                   {"4g.96gb+gfx", 4, 12, {0}, 97408, 1}});
  expect_profiles("RTX-PRO-5000", {{"1g.24gb", 1, 1, {0, 1}, 24576, 2},
                                   {"1g.24gb+me", 1, 1, {0, 1}, 24576, 1},
                                   {"1g.24gb+gfx", 1, 1, {0, 1}, 24576, 2},
                                   {"1g.24gb+me.all", 1, 1, {0, 1}, 24576, 1},
                                   {"1g.24gb-me", 1, 1, {0, 1}, 24576, 2},
                                   {"2g.48gb", 2, 2, {0}, 49152, 1},
                                   {"2g.48gb+gfx", 2, 2, {0}, 49152, 1}});
  expect_profiles("RTX-PRO-4500", {{"1g.16gb", 1, 1, {0, 1}, 16384, 2},
                                   {"1g.16gb+gfx", 1, 1, {0, 1}, 16384, 2},
                                   {"1g.16gb+me.all", 1, 1, {0, 1}, 16384, 1},
                                   {"1g.16gb-me", 1, 1, {0, 1}, 16384, 2},
                                   {"2g.32gb", 2, 2, {0}, 32768, 1},
                                   {"2g.32gb+gfx", 2, 2, {0}, 32768, 1}});
  struct Row {
    std::string_view card;
    std::int64_t memory;
    int axis;
    int compute;
    model::MigEngines engines;
  };
  for (const Row& row :
       {Row{"A30", 24576, 4, 4, {0, 1}}, Row{"RTX-PRO-6000", 98304, 12, 4, {4, 1}},
        Row{"RTX-PRO-5000", 49152, 2, 2, {2, 1}}, Row{"RTX-PRO-4500", 32768, 2, 2, {2, 1}}}) {
    const model::MigTable& table = *card(row.card).table;
    EXPECT_EQ(card(row.card).memory.value, row.memory) << row.card;
    EXPECT_EQ(table.memory_slices, row.axis) << row.card;
    EXPECT_EQ(table.compute_slices, row.compute) << row.card;
    EXPECT_EQ(table.engines, row.engines) << row.card;
  }
}

TEST(MigCatalogTest, EnginesFollowFromTheAttribute) {
  const model::MigTable& table = *card("RTX-PRO-6000").table;
  const auto drawn = [&](std::string_view name) {
    return table.profiles[table.find_profile(name).value()].engines;
  };
  EXPECT_EQ(drawn("1g.24gb"), (model::MigEngines{1, 0}));
  EXPECT_EQ(drawn("1g.24gb+me"), (model::MigEngines{1, 1}));
  EXPECT_EQ(drawn("1g.24gb+gfx"), (model::MigEngines{1, 0}));
  EXPECT_EQ(drawn("1g.24gb+me.all"), (model::MigEngines{4, 1}));
  EXPECT_EQ(drawn("1g.24gb-me"), (model::MigEngines{0, 0}));
  EXPECT_EQ(drawn("2g.48gb"), (model::MigEngines{2, 0}));
  EXPECT_EQ(drawn("2g.48gb+me.all"), (model::MigEngines{4, 1}));
  EXPECT_EQ(drawn("4g.96gb"), (model::MigEngines{4, 0}));
}

TEST(MigCatalogTest, EveryTableIsConsistent) {
  for (const mig::MigCard& each : mig::mig_cards()) {
    const model::MigTable& table = *each.table;
    std::set<std::string> names;
    for (const model::MigProfile& profile : table.profiles) {
      SCOPED_TRACE(each.name + ' ' + profile.name);
      EXPECT_TRUE(names.insert(profile.name).second);
      EXPECT_TRUE(profile.alias.empty() || names.insert(profile.alias).second);
      EXPECT_TRUE(mig::parse_mig_profile_name(profile.name));
      ASSERT_FALSE(profile.starts.empty());
      EXPECT_TRUE(std::ranges::is_sorted(profile.starts, std::less_equal<>{}));
      EXPECT_GE(profile.starts.front(), 0);
      EXPECT_LE(profile.starts.back() + profile.size, table.memory_slices);
      EXPECT_TRUE(profile.engines.fits_in(table.engines));
      EXPECT_LE(profile.compute_slices, table.compute_slices);
      EXPECT_GT(profile.memory.value, 0);
      EXPECT_LE(profile.memory.value * table.memory_slices, each.memory.value * profile.size);
      // A name says about how much memory its slices have.
      const std::int64_t named =
          std::int64_t{mig::parse_mig_profile_name(profile.name)->gigabytes} * 1024;
      EXPECT_LE(std::abs(profile.memory.value - named) * 100, named * 12);
    }
    // What the table's making relies on: no set of slices has more compute slices than the card.
    for (const mig::MigLayout& layout : mig::maximal_layouts(table, false)) {
      int compute = 0;
      for (const model::MigPlacement slice : layout)
        compute += table.profiles[slice.profile].compute_slices;
      EXPECT_LE(compute, table.compute_slices) << each.name;
    }
  }
}

TEST(MigCatalogTest, OtherSpellingsAreFound) {
  struct Row {
    std::string_view card;
    std::string_view alias;
    std::string_view name;
  };
  for (const Row& row :
       {Row{"A100-80GB", "7g.79gb", "7g.80gb"}, Row{"GB200", "3g.95gb", "3g.93gb"},
        Row{"GB200", "4g.95gb", "4g.93gb"}, Row{"GB200", "7g.189gb", "7g.186gb"}}) {
    const model::MigTable& table = *card(row.card).table;
    EXPECT_EQ(table.find_profile(row.alias), table.find_profile(row.name)) << row.alias;
    EXPECT_TRUE(table.find_profile(row.alias)) << row.alias;
  }
  EXPECT_FALSE(card("H100-80GB").table->find_profile("7g.79gb"));
  EXPECT_FALSE(card("H100-80GB").table->find_profile(""));
}

TEST(MigCatalogTest, OneNameMeansDifferentSlicesOfDifferentCards) {
  struct Row {
    std::string_view profile;
    std::string_view card;
    int most;
  };
  for (const Row& row : {Row{"1g.10gb", "A100-40GB", 4}, Row{"1g.10gb", "A100-80GB", 7},
                         Row{"1g.24gb", "H100-94GB", 4}, Row{"1g.24gb", "RTX-PRO-6000", 4},
                         Row{"1g.24gb", "RTX-PRO-5000", 2}, Row{"2g.48gb", "RTX-PRO-6000", 2},
                         Row{"2g.48gb", "RTX-PRO-5000", 1}}) {
    const model::MigTable& table = *card(row.card).table;
    EXPECT_EQ(mig::max_slices(table, table.find_profile(row.profile).value()), row.most)
        << row.profile << " of " << row.card;
  }
}

}  // namespace
}  // namespace snug::catalog_test
