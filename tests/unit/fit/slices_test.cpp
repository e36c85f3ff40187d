// What a GPU in MIG mode gives to whom: the profile and the place, and why not.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pods.hpp"
#include "support/mig_nodes.hpp"

namespace snug::slices_test {
namespace {

constexpr std::string_view kCard = "n1: A100 40960 mig | dynamic";
constexpr std::string_view kTwo = "n1: A100 40960 mig x2 | dynamic";
/// What mig-parted calls all-balanced, at the places where a driver puts it.
constexpr std::string_view kBalanced =
    "n1: A100 40960 mig slices=3g.20gb@4+2g.10gb@2+1g.5gb@1+1g.5gb@0";

const model::MigTable& a100() { return *card_named("A100-40GB").table; }

model::HoldingPtr held(int gpu, std::string profile, int start) {
  const std::string uid = "h" + std::to_string(gpu) + "-" + std::to_string(start);
  return make_slice_holding(uid, "n1", make_slice_device(gpu, a100(), std::move(profile), start));
}

/// Beside these, 1g.5gb has room at 3 alone.
std::vector<model::HoldingPtr> nearly_full() {
  return {held(0, "2g.10gb", 0), held(0, "1g.5gb", 2), held(0, "3g.20gb", 4)};
}

TEST(FitSlicesTest, ARequestGetsTheSmallestProfileThatServesIt) {
  struct Row {
    std::string_view node;
    std::string_view asks;
    std::string_view profile;
  };
  constexpr std::string_view kA100 = "n1: A100 40960 mig | dynamic";
  constexpr std::string_view kA30 = "n1: A30 24576 mig | dynamic";
  constexpr std::string_view kRtx = "n1: RTX-PRO-6000 98304 mig | dynamic";
  const std::vector<Row> rows = {{kA100, "app 3815", "1g.5gb"},
                                 {kA100, "app 4864", "1g.5gb"},
                                 {kA100, "app 4865", "1g.10gb"},
                                 {kA100, "app 7630", "1g.10gb"},
                                 {kA100, "app 9857", "3g.20gb"},
                                 {kA100, "app 19969", "7g.40gb"},
                                 {kA100, "app 40192", "7g.40gb"},
                                 {kA100, "app 0.001", "1g.5gb"},
                                 {kA100, "app 0.125", "1g.5gb"},
                                 {kA100, "app 0.126", "1g.10gb"},
                                 {kA100, "app 0.25", "1g.10gb"},
                                 {kA100, "app 0.5", "3g.20gb"},
                                 {kA100, "app 0.501", "7g.40gb"},
                                 {kA100, "app 0.125 14%", "1g.5gb"},
                                 {kA100, "app 0.125 15%", "2g.10gb"},
                                 {kA100, "app 0.125 29%", "3g.20gb"},
                                 {kA100, "app 0.125 43%", "4g.20gb"},
                                 {kA100, "app 3815 57%", "4g.20gb"},
                                 {kA100, "app 3815 58%", "7g.40gb"},
                                 {kA100, "app 3815 100%", "7g.40gb"},
                                 {kA100, "app 0.5 1% mig", "3g.20gb"},
                                 {kA100, "app 1g.5gb+me", "1g.5gb+me"},
                                 {kA30, "app 0.25", "1g.6gb"},
                                 {kA30, "app 0.251", "2g.12gb"},
                                 {kA30, "app 5836 26%", "2g.12gb"},
                                 {kA30, "app 0.75", "4g.24gb"},
                                 {kRtx, "app 0.25", "1g.24gb"},
                                 {kRtx, "app 24193", "2g.48gb"},
                                 {kRtx, "app 1g.24gb-me", "1g.24gb-me"},
                                 {"n1: A100 81920 mig | dynamic", "app 7g.79gb", "7g.80gb"}};
  for (const Row& row : rows) {
    const model::NodeStatePtr node = make_state(row.node);
    const FitResult fitted = fit_all(*node, make_asks(row.asks));
    ASSERT_FALSE(fitted.options.empty()) << row.asks;
    const model::DeviceAllocation& allocation = fitted.options.front().allocations.front();
    const model::MigTable& table = *node->gpus[0].info->mig_table;
    const model::MigProfile& profile = table.profiles[allocation.slice.profile];
    EXPECT_EQ(profile.name, row.profile) << row.asks;
    EXPECT_EQ(fitted.options.size(), profile.starts.size()) << row.asks;
    EXPECT_EQ(allocation.mode, model::GpuMode::kMig);
    EXPECT_EQ(allocation.memory, profile.memory);
    EXPECT_EQ(allocation.compute.value, 1000 * profile.compute_slices / table.compute_slices);
    EXPECT_EQ(allocation.milli, 1000 * profile.size / table.memory_slices);
    EXPECT_EQ(allocation.milli_sum, 2 * allocation.milli);
  }
}

TEST(FitSlicesTest, WhereASliceBlocksLeastIsOfferedFirst) {
  check(
      {{"1g",
        kCard,
        {},
        "app 1g.5gb",
        "0:1g.5gb@6 0:1g.5gb@5 0:1g.5gb@4 0:1g.5gb@3 0:1g.5gb@2 0:1g.5gb@1 0:1g.5gb@0"},
       {"double memory",
        kCard,
        {},
        "app 1g.10gb",
        "0:1g.10gb@6 0:1g.10gb@4 0:1g.10gb@2 0:1g.10gb@0"},
       {"2g", kCard, {}, "app 2g.10gb", "0:2g.10gb@4 0:2g.10gb@2 0:2g.10gb@0"},
       {"3g leaves 4g its place", kCard, {}, "app 3g.20gb", "0:3g.20gb@4 0:3g.20gb@0"},
       {"of like GPUs the first", kTwo, {}, "app 4g.20gb", "0:4g.20gb@0"},
       {"of others each", kTwo, {held(1, "1g.5gb", 6)}, "app 4g.20gb", "0:4g.20gb@0 1:4g.20gb@0"}});
}

TEST(FitSlicesTest, AnAgentMakesWhatHasRoom) {
  check({{"the one place", kCard, nearly_full(), "app 0.1", "0:1g.5gb@3"},
         {"none", kCard, nearly_full(), "app 0.25", "NoRoom"},
         {"3g at 0 shuts 4g out", kCard, {held(0, "3g.20gb", 0)}, "app 4g.20gb", "NoRoom"},
         {"beside 3g at 4 there is room for it",
          kCard,
          {held(0, "3g.20gb", 4)},
          "app 4g.20gb",
          "0:4g.20gb@0"},
         {"two with media", kCard, {held(0, "1g.5gb+me", 6)}, "app 1g.5gb+me", "NoRoom"},
         {"beside one with media",
          kCard,
          {held(0, "1g.5gb+me", 6), held(0, "3g.20gb", 0)},
          "app 1g.10gb",
          "0:1g.10gb@4"},
         {"1g all over",
          kCard,
          {held(0, "1g.5gb", 0), held(0, "1g.5gb", 1), held(0, "1g.5gb", 2), held(0, "1g.5gb", 3),
           held(0, "1g.5gb", 4), held(0, "1g.5gb", 5), held(0, "1g.5gb", 6)},
          "app 0.001",
          "NoRoom"},
         {"one on each of two", kTwo, nearly_full(), "app 0.5 x2", "NoRoom"},
         {"and where both have room", kTwo, nearly_full(), "app 0.1 x2", "0:1g.5gb@3+1:1g.5gb@6"},
         {"more GPUs than there are", kTwo, {}, "app 1g.5gb x3", "TooLarge"},
         {"two cards",
          "n1: A100 40960 mig, A30 24576 mig | dynamic",
          {},
          "app 0.5 x2",
          "0:3g.20gb@4+1:2g.12gb@2"}});
}

TEST(FitSlicesTest, WithoutAnAgentThereAreTheSlicesThatExist) {
  check(
      {{"its places alone", kBalanced, {}, "app 1g.5gb", "0:1g.5gb@1 0:1g.5gb@0"},
       {"one is taken", kBalanced, {held(0, "1g.5gb", 1)}, "app 1g.5gb", "0:1g.5gb@0"},
       {"all are", kBalanced, {held(0, "1g.5gb", 1), held(0, "1g.5gb", 0)}, "app 1g.5gb", "NoRoom"},
       {"the smallest that there is", kBalanced, {}, "app 0.25", "0:2g.10gb@2"},
       {"not a larger one where that is taken",
        kBalanced,
        {held(0, "2g.10gb", 2)},
        "app 0.25",
        "NoRoom"},
       {"a profile that it lacks", kBalanced, {}, "app 1g.10gb", "NoProfile"},
       {"more than any of them has", kBalanced, {}, "app 0.501", "TooLarge"},
       {"more than any of them has, for one of several",
        kBalanced,
        {},
        "app 0.1; app 0.501",
        "TooLarge"},
       {"more than any of them has, or a GPU without MIG",
        "n1: A100 40960 mig slices=1g.5gb@0, T4 15360 modes=whole",
        {},
        "app 20000",
        "TooLarge"},
       {"which a GPU without MIG may not give",
        "n1: A100 40960 mig slices=1g.5gb@0, T4 15360 modes=whole",
        {},
        "app 15000",
        "WrongMode"},
       {"more than the card has", kBalanced, {}, "app 40193", "TooLarge"},
       {"nothing exists", "n1: A100 40960 mig", {}, "app 0.1", "WrongMode"},
       {"the compute of 3g for the memory of 1g", kBalanced, {}, "app 0.1 40%", "0:3g.20gb@4"}});
}

TEST(FitSlicesTest, RefusalsSayWhatWouldHaveToChange) {
  check({{"a share that no profile holds", kCard, {}, "app 40193", "TooLarge"},
         {"no card of the name", "n1: L4 23034 mig | dynamic", {}, "app 0.1", "WrongMode"},
         {"another card's profile", kCard, {}, "app 1g.6gb", "NoProfile"},
         {"another card's profile, for one of several",
          kCard,
          {},
          "app 1g.5gb; app 1g.6gb",
          "NoProfile"},
         {"of two cards one has it, and it is ill",
          "n1: A100 40960 mig, A30 24576 mig unhealthy | dynamic",
          {},
          "app 1g.6gb",
          "Unhealthy"},
         {"a card that could have it", "n1: A100 40960 | dynamic", {}, "app 1g.5gb", "WrongMode"},
         {"a card that could not", "n1: T4 15360 | dynamic", {}, "app 1g.5gb", "NoProfile"},
         {"a whole GPU", kCard, {}, "app whole", "WrongMode"},
         {"time-slicing", kCard, {}, "app 0.1 time-slicing", "WrongMode"},
         {"mps", kCard, {}, "app 0.1 mps", "WrongMode"},
         {"mig where none is", "n1: A100 40960", {}, "app 0.1 mig", "WrongMode"},
         {"mig beside a GPU without",
          "n1: A100 40960, A100 40960 mig | dynamic",
          {},
          "app 0.5 mig",
          "1:3g.20gb@4 1:3g.20gb@0"},
         {"either",
          "n1: A100 40960, A100 40960 mig | dynamic",
          {},
          "app 0.5",
          "0 1:3g.20gb@4 1:3g.20gb@0"},
         {"another model", kCard, {}, "app 1g.5gb H100", "ModelExcluded"},
         {"another model, and another card's profile", kCard, {}, "app 1g.6gb H100", "NoProfile"},
         {"too large before the model", kCard, {}, "app 40193 H100", "TooLarge"},
         {"unhealthy", "n1: A100 40960 mig unhealthy | dynamic", {}, "app 0.1", "Unhealthy"},
         {"nothing could be made",
          "n1: A100 40960 mig failed=0+4 | dynamic",
          {},
          "app 3g.20gb",
          "Unhealthy"},
         {"nor beside others",
          "n1: A100 40960 mig failed=0 | dynamic",
          {held(0, "1g.5gb", 5)},
          "app 3g.20gb",
          "NoRoom"},
         {"but elsewhere",
          "n1: A100 40960 mig failed=0 | dynamic",
          {},
          "app 3g.20gb",
          "0:3g.20gb@4"}});
}

TEST(FitSlicesTest, WhatADevicePluginOffersIsNotSnugs) {
  constexpr std::string_view kOffered =
      "n1: A100 40960 mig slices=1g.5gb@6+3g.20gb@0 | dynamic plugin=";
  const auto with = [&](std::string_view plugin) {
    return std::string(kOffered) + std::string(plugin);
  };
  const std::string some = with("1g.5gb");
  const std::string all = with("all");
  check({{"around it", some, {}, "app 1g.10gb", "0:1g.10gb@4 0:1g.10gb@2 0:1g.10gb@0"},
         {"where a leftover stands the agent makes room", some, {}, "app 4g.20gb", "0:4g.20gb@0"},
         {"around all", all, {}, "app 0.1", "0:1g.5gb@5 0:1g.5gb@4"},
         {"its slices leave no place", all, {}, "app 3g.20gb", "WrongMode"},
         {"nor for a pod of several", all, {}, "app 3g.20gb; app 3g.20gb x1", "WrongMode"},
         {"without an agent, what it does not offer",
          "n1: A100 40960 mig slices=1g.5gb@6+1g.5gb@5+3g.20gb@0 | plugin=1g.5gb",
          {},
          "app 0.1",
          "0:3g.20gb@0"},
         {"without an agent, nothing",
          "n1: A100 40960 mig slices=1g.5gb@6 | plugin=all",
          {},
          "app 0.1",
          "WrongMode"}});
}

TEST(FitSlicesTest, EnforcementIsForSharesOfGpusThatHaveNoWalls) {
  const model::SharingRules rules({{{"*"}, {.require_enforcement = true}}});
  const fit::Tenant tenant{.name_space = "default", .rules = &rules};
  constexpr std::string_view kMixed = "n1: A100 40960, A100 40960 mig | dynamic";
  check({{"a slice", kCard, {}, "app 4g.20gb", "0:4g.20gb@0", tenant},
         {"a share as a slice", kMixed, {}, "app 0.5", "1:3g.20gb@4 1:3g.20gb@0", tenant},
         {"as a share", kMixed, {}, "app 0.5 time-slicing", "WrongMode", tenant},
         {"no slices here", "n1: A100 40960", {}, "app 0.5", "NotEnforced", tenant},
         {"several, all as slices",
          kMixed,
          {},
          "app 0.5; app 3g.20gb",
          "1:3g.20gb@4/1:3g.20gb@0",
          tenant},
         {"several, one of which is none",
          kMixed,
          {},
          "app 0.5 time-slicing; app 0.5",
          "WrongMode",
          tenant},
         {"one that is gone may have been any, for several",
          "n1: A100 40960 mig | dynamic",
          {make_holding("gone", "n1", {make_share(7, 1, 1)})},
          "app 0.1 mps; app 0.1 mps",
          "Unhealthy",
          tenant},
         {"one that is gone may have been any",
          "n1: A100 40960 mig | dynamic",
          {make_holding("gone", "n1", {make_share(7, 1, 1)})},
          "app 0.1 mps",
          "Unhealthy",
          tenant},
         {"enforced", "n1: A100 40960 | enforced", {}, "app 0.5", "0", tenant}});
}

TEST(FitSlicesTest, ACapIsOnTheComputeOfSlices) {
  const auto capped = [](std::int64_t milli) {
    return fit::Tenant{.name_space = "x", .cap_remaining = milli};
  };
  check({{"3/7", kCard, {}, "app 0.5", "0:3g.20gb@4 0:3g.20gb@0", capped(428)},
         {"a thousandth less", kCard, {}, "app 0.5", "CapReached", capped(427)},
         {"the cheaper card",
          "n1: A30 24576 mig, A100 40960 mig | dynamic",
          {},
          "app 0.5",
          "1:3g.20gb@4 1:3g.20gb@0",
          capped(428)},
         {"what exists costs more",
          kBalanced,
          {},
          "app 0.125 x1; app 0.25",
          "CapReached",
          capped(426)},
         {"two", kTwo, {}, "app 1g.5gb x2", "0:1g.5gb@6+1:1g.5gb@6", capped(284)},
         {"two, a thousandth less", kTwo, {}, "app 1g.5gb x2", "CapReached", capped(283)},
         {"several", kCard, {}, "app 1g.5gb; app 2g.10gb", "CapReached", capped(426)}});
}

TEST(FitSlicesTest, EachContainerHasItsOwnSlice) {
  check({{"two", kCard, {}, "app 3g.20gb; app 4g.20gb", "0:3g.20gb@4/0:4g.20gb@0"},
         {"that do not go together", kCard, {}, "app 4g.20gb; app 4g.20gb", "TooLarge"},
         {"but on two GPUs", kTwo, {}, "app 4g.20gb; app 4g.20gb", "0:4g.20gb@0/1:4g.20gb@0"},
         {"a sidecar", kBalanced, {}, "side 0.1; app 0.1", "0:1g.5gb@1/0:1g.5gb@0"},
         {"three of two", kBalanced, {}, "side 0.1; app 0.1; app 0.1", "WrongMode"},
         {"of which one is taken", kBalanced, {held(0, "1g.5gb", 0)}, "app 0.1; app 0.1", "NoRoom"},
         {"where they must move",
          kCard,
          {held(0, "1g.5gb", 6)},
          "app 2g.10gb; app 4g.20gb",
          "0:2g.10gb@4/0:4g.20gb@0"},
         {"a slice and a share",
          "n1: A100 40960 mig, A100 40960 | dynamic",
          {},
          "app 1g.5gb; app 0.5 time-slicing",
          "0:1g.5gb@6/1"},
         {"a slice and a whole GPU",
          "n1: A100 40960 mig, A100 40960 | dynamic",
          {},
          "app 1g.5gb; app whole",
          "0:1g.5gb@6/1w"},
         {"two with media",
          kTwo,
          {},
          "app 1g.5gb+me; app 1g.5gb+me",
          "0:1g.5gb+me@6/1:1g.5gb+me@6"}});
}

TEST(FitSlicesTest, APlainInitContainerUsesTheSliceOfAnAppThatHasWhatItNeeds) {
  check({{"the app's", kCard, {}, "init 0.1; app 0.5", "0:3g.20gb@4/0:3g.20gb@4"},
         {"as large", kCard, {}, "init 7g.40gb; app 7g.40gb", "0:7g.40gb@0/0:7g.40gb@0"},
         {"one after another",
          kCard,
          {},
          "init 0.1; init 0.3; app 0.5",
          "0:3g.20gb@4/0:3g.20gb@4/0:3g.20gb@4"},
         {"a larger one of its own", kBalanced, {}, "init 0.5; app 0.1", "0:3g.20gb@4/0:1g.5gb@1"},
         {"not a sidecar's", kBalanced, {}, "side 2g.10gb; init 0.1", "0:2g.10gb@2/0:1g.5gb@1"},
         {"another init container's",
          kBalanced,
          {held(0, "1g.5gb", 0)},
          "init 0.1; init 0.1; app 3g.20gb x1; app 2g.10gb",
          "0:3g.20gb@4/0:3g.20gb@4/0:3g.20gb@4/0:2g.10gb@2"},
         {"one for both",
          kBalanced,
          {held(0, "1g.5gb", 0), held(0, "3g.20gb", 4)},
          "init 0.1; init 0.1; side 2g.10gb",
          "0:1g.5gb@1/0:1g.5gb@1/0:2g.10gb@2"},
         {"a larger one that only the two together need",
          kBalanced,
          {held(0, "2g.10gb", 2)},
          "init 9000; init 0.5; app 0.1",
          "0:3g.20gb@4/0:3g.20gb@4/0:1g.5gb@1"},
         {"the same, whichever comes first",
          kBalanced,
          {held(0, "2g.10gb", 2)},
          "init 0.5; init 9000; app 0.1",
          "0:3g.20gb@4/0:3g.20gb@4/0:1g.5gb@1"},
         {"the same, beyond a cap",
          kBalanced,
          {held(0, "2g.10gb", 2)},
          "init 9000; init 0.5; app 0.1",
          "CapReached",
          fit::Tenant{.name_space = "x", .cap_remaining = 427}},
         {"media, which the app's has not",
          kCard,
          {},
          "init 1g.5gb+me; app 3g.20gb",
          "0:1g.5gb+me@3/0:3g.20gb@4"}});
}

TEST(FitSlicesTest, GpusThatLookAlikeAndHaveOtherSlicesAreLookedAt) {
  model::NodeInventory none = make_mig_node("n1: A100 40960 modes=, A100 40960 mig | dynamic");
  model::NodeInventory other = make_mig_node("n1: A100 40960 mig x2 | dynamic");
  set_table(other.gpus[0], card_named("A30").table);
  for (const model::NodeInventory& inventory : {none, other}) {
    const model::NodeStatePtr node =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
    EXPECT_EQ(takes_text(*node, make_asks("app 4g.20gb")), "1:4g.20gb@0");
  }
}

}  // namespace
}  // namespace snug::slices_test
