#include "snug/sim_codec/mig_card_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "snug/mig/layouts.hpp"

namespace snug::mig_picture_test {
namespace {

const mig::MigCard& card(std::string_view name) { return **sim_codec::find_one_mig_card(name); }

TEST(MigPictureTest, ACardIsATableAndItsLayouts) {
  EXPECT_EQ(
      sim_codec::mig_picture(card("RTX-PRO-4500"), sim_codec::LayoutScope::kPlain),
      R"(RTX-PRO-4500: 32768 MiB, 2 memory slices, 2 compute slices, 2 media engines, 1 media extension

profile         compute slices  memory slices    MiB  starts  at most  media  extension
1g.16gb                      1              1  16384  0,1           2      1          0
1g.16gb+gfx                  1              1  16384  0,1           2      1          0
1g.16gb+me.all               1              1  16384  0,1           1      2          1
1g.16gb-me                   1              1  16384  0,1           2      0          0
2g.32gb                      2              2  32768  0             1      2          0
2g.32gb+gfx                  2              2  32768  0             1      2          0

2 layouts of plain profiles to which no slice can be added; a dot is a memory slice left over

    0        1
[1g.16gb][1g.16gb]
[    2g.32gb     ]
)");
}

TEST(MigPictureTest, WhatIsLeftOverIsDotsInItsPlaces) {
  model::MigTable table{
      .memory_slices = 5, .compute_slices = 2, .engines{.media = 0, .extension = 1}};
  table.profiles.push_back(
      {.name = "1g.5gb", .compute_slices = 1, .size = 2, .memory{1}, .starts{1}});
  table.profiles.push_back({.name = "2g.9gb+me",
                            .compute_slices = 2,
                            .size = 1,
                            .memory{1},
                            .starts{4},
                            .engines{0, 1}});
  const mig::MigCard made{"made", {10}, std::make_shared<const model::MigTable>(table)};
  const std::string plain = sim_codec::mig_picture(made, sim_codec::LayoutScope::kPlain);
  EXPECT_TRUE(plain.ends_with("\n\n 0   1   2   3   4\n .  [1g.5gb] .   .\n")) << plain;
  const std::string all = sim_codec::mig_picture(made, sim_codec::LayoutScope::kAll);
  EXPECT_TRUE(all.ends_with("     .     [       1g.5gb       ]     .     [2g.9gb+me]\n")) << all;
}

TEST(MigPictureTest, OtherNamesAreSaid) {
  EXPECT_NE(sim_codec::mig_picture(card("A100-80GB"), sim_codec::LayoutScope::kPlain)
                .find("\n7g.79gb: another name of 7g.80gb\n"),
            std::string::npos);
}

TEST(MigPictureTest, EveryCardIsListed) {
  const std::string list = sim_codec::mig_card_list();
  EXPECT_EQ(std::ranges::count(list, '\n'), std::ssize(mig::mig_cards()) + 1);
  EXPECT_TRUE(
      list.starts_with("card             MiB  memory slices  compute slices  profiles\n"
                       "A30            24576              4               4         5\n"))
      << list;
}

TEST(MigPictureTest, AModelIsOneCardOrASentence) {
  EXPECT_EQ(sim_codec::find_one_mig_card("NVIDIA-A30").value()->name, "A30");
  const auto said = [](std::string_view model) {
    return sim_codec::find_one_mig_card(model).error().message;
  };
  EXPECT_EQ(said("a100"), "\"a100\" may be A100-40GB or A100-80GB; say which");
  EXPECT_EQ(said("RTX PRO"),
            "\"RTX PRO\" may be RTX-PRO-6000, RTX-PRO-5000 or RTX-PRO-4500; say which");
  EXPECT_TRUE(said("T4").starts_with(
      "no card called \"T4\" is known to have MIG; the known cards are A30, A100-40GB, "));
  EXPECT_TRUE(said("T4").ends_with(", RTX-PRO-5000 and RTX-PRO-4500"));
  EXPECT_LT(said(std::string(1'000'000, '\xff')).size(), 400U);
}

TEST(MigJsonTest, SaysWhatTheTableDoes) {
  for (const mig::MigCard& each : mig::mig_cards()) {
    const auto json =
        nlohmann::json::parse(sim_codec::write_mig_card(each, sim_codec::LayoutScope::kAll));
    EXPECT_EQ(json["card"], each.name);
    EXPECT_EQ(json["memoryMiB"], each.memory.value);
    EXPECT_EQ(json["axis"], each.table->memory_slices);
    EXPECT_EQ(json["compute"], each.table->compute_slices);
    ASSERT_EQ(json["profiles"].size(), each.table->profiles.size());
    for (std::size_t i = 0; i < each.table->profiles.size(); ++i) {
      const model::MigProfile& profile = each.table->profiles[i];
      const auto& row = json["profiles"][i];
      EXPECT_EQ(row["profile"], profile.name);
      EXPECT_EQ(row["size"], profile.size);
      EXPECT_EQ(row["memoryMiB"], profile.memory.value);
      EXPECT_EQ(row["starts"], profile.starts);
      EXPECT_EQ(row["atMost"], mig::max_slices(*each.table, i));
      EXPECT_EQ(row.contains("alias"), !profile.alias.empty());
    }
    EXPECT_EQ(json["layouts"].size(), mig::maximal_layouts(*each.table, false).size());
  }
  EXPECT_EQ(nlohmann::json::parse(sim_codec::write_mig_cards()).size(), mig::mig_cards().size());
}

}  // namespace
}  // namespace snug::mig_picture_test
