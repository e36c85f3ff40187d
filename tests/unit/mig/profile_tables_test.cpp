#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snug/mig/card_catalog.hpp"
#include "snug/mig/layouts.hpp"

namespace snug::published_test {
namespace {

TEST(MigNameTest, NvidiasGrammarIsRead) {
  struct Row {
    std::string_view text;
    int compute;
    int gigabytes;
    std::string_view attribute;
    std::string_view name;
  };
  for (const Row& row :
       {Row{"1g.5gb", 1, 5, "", "1g.5gb"}, Row{"7g.141gb", 7, 141, "", "7g.141gb"},
        Row{"1g.5gb+me", 1, 5, "+me", "1g.5gb+me"},
        Row{"2g.48gb+me.all", 2, 48, "+me.all", "2g.48gb+me.all"},
        Row{"4g.96gb+gfx", 4, 96, "+gfx", "4g.96gb+gfx"},
        Row{"1g.24gb-me", 1, 24, "-me", "1g.24gb-me"}, Row{"3c.3g.20gb", 3, 20, "", "3g.20gb"},
        Row{"1c.1g.5gb+me", 1, 5, "+me", "1g.5gb+me"}}) {
    const auto name = mig::parse_mig_profile_name(row.text);
    ASSERT_TRUE(name) << row.text;
    EXPECT_EQ(name->compute, row.compute) << row.text;
    EXPECT_EQ(name->gigabytes, row.gigabytes) << row.text;
    EXPECT_EQ(name->attribute, row.attribute) << row.text;
    EXPECT_EQ(name->canonical, row.name) << row.text;
  }
}

TEST(MigNameTest, AnythingElseIsNoName) {
  for (const std::string_view text : {"",
                                      "1",
                                      "1g",
                                      "1g.",
                                      "1g.5",
                                      "1g.5g",
                                      "1g.5GB",
                                      "1G.5gb",
                                      "g.5gb",
                                      "1g5gb",
                                      ".1g.5gb",
                                      "1g.5gb ",
                                      " 1g.5gb",
                                      "0g.5gb",
                                      "1g.0gb",
                                      "01g.5gb",
                                      "1g.05gb",
                                      "-1g.5gb",
                                      "+1g.5gb",
                                      "1g.-5gb",
                                      "1g.5gb+",
                                      "1g.5gb-",
                                      "1g.5gb+me-me",
                                      "1g.5gb-me+gfx",
                                      "1g.5gb+me,gfx",
                                      "1g.5gb+me+gfx",
                                      "1g.5gb-gfx",
                                      "1g.5gb-me.all",
                                      "1g.5gb.me",
                                      "1g.5gb+ME",
                                      "1c.3g.20gb",
                                      "4c.3g.20gb",
                                      "0c.1g.5gb",
                                      "1c.5gb",
                                      "1c.1c.1g.5gb",
                                      "1c.1g",
                                      "c.1g.5gb",
                                      "mig-1g.5gb",
                                      "1g.5.5gb",
                                      "1g.99999gb",
                                      "99999999999999999999g.5gb",
                                      "\xff",
                                      "1g.5gb\xff"}) {
    EXPECT_FALSE(mig::parse_mig_profile_name(text)) << text;
  }
  EXPECT_FALSE(mig::parse_mig_profile_name(std::string_view("1g.5gb\0", 7)));
  EXPECT_FALSE(mig::parse_mig_profile_name(std::string(1'000'000, '1')));
}

model::MigProfile published(std::string name, int size, std::vector<int> starts) {
  return {.name = std::move(name), .size = size, .memory{1}, .starts = std::move(starts)};
}

/// What a node with this card publishes: neither compute slices nor engines.
std::vector<model::MigProfile> published_by(const mig::MigCard& card) {
  std::vector<model::MigProfile> profiles = card.table->profiles;
  for (model::MigProfile& profile : profiles) {
    profile.compute_slices = 0;
    profile.engines = {};
  }
  return profiles;
}

TEST(MigTableTest, PublishedProfilesMakeTheCardsOwnTable) {
  for (const mig::MigCard& card : mig::mig_cards()) {
    const model::MigTablePtr table = mig::build_mig_table(published_by(card));
    ASSERT_TRUE(table) << card.name;
    EXPECT_EQ(*table, *card.table) << card.name;
  }
}

// As an inventory has it, written down anew.
TEST(MigTableTest, ThePublishedA100IsTheBuiltInOne) {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6};
  const model::MigTablePtr table =
      mig::build_mig_table({published("1g.5gb", 1, all), published("1g.5gb+me", 1, all),
                            published("1g.10gb", 2, {0, 2, 4, 6}),
                            published("2g.10gb", 2, {0, 2, 4}), published("3g.20gb", 4, {0, 4}),
                            published("4g.20gb", 4, {0}), published("7g.40gb", 8, {0})});
  const model::MigTable& built_in = *mig::find_mig_card("A100-40GB", {})->table;
  ASSERT_TRUE(table);
  EXPECT_EQ(mig::all_placements(*table), mig::all_placements(built_in));
  EXPECT_EQ(mig::all_layouts(*table), mig::all_layouts(built_in));
}

TEST(MigTableTest, ThePublishedRtxPro6000IsTheBuiltInOne) {
  const std::vector<int> quarters = {0, 3, 6, 9};
  const std::vector<int> halves = {0, 6};
  const model::MigTablePtr table = mig::build_mig_table(
      {published("1g.24gb", 3, quarters), published("1g.24gb+me", 3, quarters),
       published("1g.24gb+gfx", 3, quarters), published("1g.24gb+me.all", 3, quarters),
       published("1g.24gb-me", 3, quarters), published("2g.48gb", 6, halves),
       published("2g.48gb+gfx", 6, halves), published("2g.48gb+me.all", 6, halves),
       published("2g.48gb-me", 6, halves), published("4g.96gb", 12, {0}),
       published("4g.96gb+gfx", 12, {0})});
  const model::MigTable& built_in = *mig::find_mig_card("RTX-PRO-6000", {})->table;
  ASSERT_TRUE(table);
  EXPECT_EQ(mig::all_placements(*table), mig::all_placements(built_in));
  EXPECT_EQ(mig::all_layouts(*table), mig::all_layouts(built_in));
}

TEST(MigTableTest, NamesAndStartsArePutInOrder) {
  const model::MigTablePtr table = mig::build_mig_table({published("3c.3g.20gb", 4, {4, 0, 4})});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->profiles.front().name, "3g.20gb");
  EXPECT_EQ(table->profiles.front().starts, (std::vector<int>{0, 4}));
  EXPECT_EQ(table->memory_slices, 8);
  EXPECT_EQ(table->compute_slices, 3);
}

TEST(MigTableTest, TheLongestAxisIsOf64Slices) {
  const model::MigTablePtr table =
      mig::build_mig_table({published("7g.80gb", 64, {0}), published("1g.10gb", 1, {0, 63})});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->memory_slices, 64);
  EXPECT_EQ((model::MigPlacement{0, 0}).range(*table), ~model::AxisMask{0});
  EXPECT_EQ((model::MigPlacement{1, 63}).range(*table), model::AxisMask{1} << 63);
}

TEST(MigTableTest, WhatIsNoTableIsRefused) {
  const model::MigProfile good = published("1g.5gb", 1, {0});
  const std::vector<std::vector<model::MigProfile>> rows = {
      {},
      {published("1g.5gb", 1, {})},
      {published("5gb", 1, {0})},
      {published("1c.3g.20gb", 4, {0})},
      {good, published("", 1, {1})},
      {good, good},
      {good, published("1c.1g.5gb", 1, {1})},
      {published("1g.5gb", 0, {0})},
      {published("1g.5gb", -1, {0})},
      {published("1g.5gb", 65, {0})},
      {published("1g.5gb", 1, {-1})},
      {published("1g.5gb", 1, {64})},
      {published("1g.5gb", 2, {63})},
      {published("1g.5gb", 2'147'483'647, {2'147'483'647})},
      {published("1g.5gb", 2, {0, 2'147'483'647})},
  };
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_FALSE(mig::build_mig_table(rows[i])) << "row " << i;
  std::vector<model::MigProfile> many;
  for (std::size_t i = 1; i <= model::kMaxMigProfiles; ++i) {
    many.push_back(published("1g." + std::to_string(i) + "gb", 1, {0}));
  }
  EXPECT_TRUE(mig::build_mig_table(many));
  many.push_back(published("2g.10gb", 1, {0}));
  EXPECT_FALSE(mig::build_mig_table(many));
}

}  // namespace
}  // namespace snug::published_test
