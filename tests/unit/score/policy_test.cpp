#include "snug/score/policy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug::policy_test {
namespace {

using Labels = std::map<std::string, std::string, std::less<>>;

score::Policy make_policy() {
  score::Policy policy;
  for (const char* name : {"usual", "ml", "batch", "a100", "big"}) {
    policy.profiles.emplace(name, score::Profile{name, {{score::find_term("spread"), 1}}});
  }
  policy.default_profile_name = "usual";
  return policy;
}

/// What the policy says of a pod's placement on the GPU at `gpu` of a node.
std::string chosen(const score::Policy& policy, const score::PolicySubject& pod,
                   std::string_view node = "n1: T4 16384", std::uint16_t gpu = 0) {
  const auto choice = policy.choose(pod);
  if (!choice) return model::message(choice.error());
  const model::Placement placement{{{.gpu = gpu}}};
  return choice->profile_for(*make_state(node), placement).name;
}

const Labels kNone;
const Labels kBatch{{"tier", "batch"}, {"zone", "a"}};

TEST(PolicyChooseTest, WithoutRulesEveryPodHasTheDefault) {
  EXPECT_EQ(chosen(make_policy(), {"any", kBatch, ""}), "usual");
}

TEST(PolicyChooseTest, TheFirstRuleThatMatchesCounts) {
  score::Policy policy = make_policy();
  policy.rules = {{{"ml-*"}, {{"tier", "batch"}}, {}, "batch"},
                  {{"ml-*", "science"}, {}, {}, "ml"},
                  {{}, {{"tier", "batch"}, {"zone", "a"}}, {}, "big"}};
  EXPECT_EQ(chosen(policy, {"ml-a", kBatch, ""}), "batch");
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, ""}), "ml");
  EXPECT_EQ(chosen(policy, {"science", kBatch, ""}), "ml");
  EXPECT_EQ(chosen(policy, {"web", kBatch, ""}), "big");
  const Labels other{{"tier", "batch"}, {"zone", "b"}};
  EXPECT_EQ(chosen(policy, {"web", other, ""}), "usual");
  EXPECT_EQ(chosen(policy, {"ml", kNone, ""}), "usual");
  policy.rules.push_back({{}, {}, {}, "a100"});
  EXPECT_EQ(chosen(policy, {"ml", kNone, ""}), "a100");
}

TEST(PolicyChooseTest, ARuleForModelsAppliesToPlacementsOnThem) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {"*a100*", "H100"}, "a100"},
                  {{}, {}, {"*80GB", "L40"}, "big"},
                  {{"ml-*"}, {}, {}, "ml"},
                  {{}, {}, {"T4"}, "batch"}};
  constexpr std::string_view kMixed =
      "n1: NVIDIA-A100-SXM4-80GB 81920, H100-80GB 81920, L40-SHARED 46068, T4 16384";
  for (const auto& [gpu, profile] : std::vector<std::pair<std::uint16_t, std::string>>{
           {0, "a100"}, {1, "big"}, {2, "big"}, {3, "ml"}}) {
    EXPECT_EQ(chosen(policy, {"ml-a", kNone, ""}, kMixed, gpu), profile) << gpu;
  }
  EXPECT_EQ(chosen(policy, {"web", kNone, ""}, kMixed, 0), "a100");
  EXPECT_EQ(chosen(policy, {"web", kNone, ""}, kMixed, 3), "batch");
  EXPECT_EQ(chosen(policy, {"web", kNone, ""}, "n1: V100 16384"), "usual");
}

TEST(PolicyChooseTest, WhereTheKubeletPicksTheNodesFirstGpuCounts) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {"A100"}, "a100"}};
  const auto choice = policy.choose({"x", kNone, ""});
  ASSERT_TRUE(choice.has_value());
  const model::Placement placement;
  EXPECT_EQ(
      choice->profile_for(*make_state("n1: A100 40960 x2 | nvidia.com/gpu=2"), placement).name,
      "a100");
  EXPECT_EQ(choice->profile_for(*make_state("n1: T4 16384 x2 | nvidia.com/gpu=2"), placement).name,
            "usual");
}

TEST(PolicyChooseTest, AnEqualsSignInAPatternIsACharacterLikeOthers) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {"=A100"}, "a100"}};
  EXPECT_EQ(chosen(policy, {"x", kNone, ""}, "n1: A100 40960"), "usual");
}

TEST(PolicyChooseTest, AModelWithANumberIsComparedOnce) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {"A100"}, "a100"}};
  const auto choice = policy.choose({"x", kNone, ""});
  ASSERT_TRUE(choice.has_value());
  const auto of_model = [&](std::string_view node, std::uint8_t number) {
    model::NodeInventory inventory = make_node(node);
    inventory.gpus[0].model_id = number;
    const model::NodeStatePtr state =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
    return choice->profile_for(*state, model::Placement{{{.gpu = 0}}}).name;
  };
  EXPECT_EQ(of_model("n1: T4 16384", 1), "usual");
  EXPECT_EQ(of_model("n1: A100 40960", 63), "a100");
  EXPECT_EQ(of_model("n1: T4 16384", 63), "a100") << "equal numbers stand for equal models";
  EXPECT_EQ(of_model("n1: A100 40960", 0), "a100");
  EXPECT_EQ(of_model("n1: T4 16384", 0), "usual") << "the number of many models";
}

TEST(PolicyChooseTest, APodMayAskOnlyForWhatIsOpenToItsNamespace) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {}, "batch"}};
  policy.pod_choice = {{{"ml-*"}, {"ml"}}, {{"ml-big", "ops"}, {"big", "usual"}}};
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, "ml"}), "ml");
  EXPECT_EQ(chosen(policy, {"ml-big", kNone, "big"}), "big");
  EXPECT_EQ(chosen(policy, {"ml-big", kNone, "ml"}), "ml");
  EXPECT_EQ(chosen(policy, {"ops", kNone, "usual"}), "usual");
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, ""}), "batch");
  const std::string forbidden = model::message(model::ReasonCode::kForbiddenPolicy);
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, "big"}), forbidden);
  EXPECT_EQ(chosen(policy, {"web", kNone, "ml"}), forbidden);
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, "batch"}), forbidden);  // what a rule gives it anyway
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, "no-such"}), forbidden);
  EXPECT_EQ(chosen(policy, {"ml-a", kNone, "ML"}), forbidden);
}

TEST(PolicyChooseTest, WithoutPodChoiceNothingIsOpen) {
  EXPECT_EQ(chosen(make_policy(), {"x", kNone, "usual"}),
            model::message(model::ReasonCode::kForbiddenPolicy));
}

TEST(PolicyChooseTest, WhatAPodAskedForScoresOnEveryModel) {
  score::Policy policy = make_policy();
  policy.rules = {{{}, {}, {"*"}, "a100"}};
  policy.pod_choice = {{{"*"}, {"big"}}};
  EXPECT_EQ(chosen(policy, {"x", kNone, "big"}), "big");
  EXPECT_EQ(chosen(policy, {"x", kNone, ""}), "a100");
}

TEST(ProfileChoiceTest, ChoicesThatScoreDifferentlyHaveDifferentKeys) {
  score::Policy policy = make_policy();
  policy.rules = {{{"a"}, {}, {"T4"}, "ml"},
                  {{"b"}, {}, {"T4", "L4"}, "ml"},
                  {{"c"}, {}, {}, "ml"},
                  {{"d"}, {}, {"T4"}, "big"}};
  std::set<std::string> keys;
  for (const char* name_space : {"a", "b", "c", "d", "e"}) {
    const auto choice = policy.choose({name_space, kNone, ""});
    ASSERT_TRUE(choice.has_value());
    EXPECT_TRUE(keys.insert(choice->cache_key()).second) << name_space;
  }
  EXPECT_EQ(policy.choose({"e", kNone, ""})->cache_key(),
            policy.choose({"f", kBatch, ""})->cache_key());
}

model::Demand churning(int churn, int saturation = 0) {
  model::Demand demand;
  demand.churn = churn;
  demand.saturation = saturation;
  return demand;
}

/// Saturation changes nothing.
score::ByRegime from_to(std::int64_t filling, std::int64_t churning) {
  return score::ByRegime({.filling = filling, .churning = churning, .saturated = churning});
}

TEST(ByRegimeTest, TheThirdCountsWhereAChurningClusterHasNoRoom) {
  constexpr int kFull = model::Demand::kFullChurn;
  constexpr int kNoRoom = model::Demand::kFullSaturation;
  const score::ByRegime number({.filling = 0, .churning = 100, .saturated = 900});
  EXPECT_EQ(number.at(churning(kFull, kNoRoom)), 900);
  EXPECT_EQ(number.at(churning(kFull, kNoRoom / 2)), 500);
  EXPECT_EQ(number.at(churning(kFull / 2, kNoRoom)), 50 + 425);
  EXPECT_EQ(number.at(churning(0, kNoRoom)), 0) << "while nothing leaves it says nothing";
  EXPECT_EQ(from_to(3, 7).at(churning(kFull, kNoRoom)), 7) << "the same as in churn";
}

TEST(ByRegimeTest, IsTheOneWhileNothingLeavesTheOtherInFullChurnAndBetweenThem) {
  struct Row {
    score::ByRegime number;
    int churn;
    std::int64_t at;
  };
  constexpr int kFull = model::Demand::kFullChurn;
  for (const Row& row :
       std::vector<Row>{{7, 0, 7},
                        {7, kFull / 2, 7},
                        {7, kFull, 7},
                        {from_to(10, 20), 0, 10},
                        {from_to(10, 20), kFull / 2, 15},
                        {from_to(10, 20), kFull, 20},
                        {from_to(0, kFull), 1, 1},
                        {from_to(-100, 100), kFull / 2, 0},
                        {from_to(100, -100), kFull / 4, 50},
                        {from_to(score::kMaxWeight, -score::kMaxWeight), kFull, -score::kMaxWeight},
                        {from_to(1, score::kMaxQuantum), kFull, score::kMaxQuantum},
                        {from_to(1, 1), 5, 1}}) {
    EXPECT_EQ(row.number.at(churning(row.churn)), row.at) << row.churn;
  }
}

TEST(ProfileTest, TheClassOfAScoreIsTheQuantumUpToWhichItLies) {
  struct Row {
    std::int64_t score;
    std::int64_t quantum;
    std::int64_t of;
  };
  for (const Row& row : std::vector<Row>{{0, 10, 0},
                                         {-1, 10, 0},
                                         {-9, 10, 0},
                                         {-10, 10, -1},
                                         {-19, 10, -1},
                                         {-20, 10, -2},
                                         {1, 10, 1},
                                         {10, 10, 1},
                                         {11, 10, 2},
                                         {20, 10, 2},
                                         {5, 1, 5},
                                         {-5, 1, -5},
                                         {0, 1, 0},
                                         {-1, score::kMaxQuantum, 0},
                                         {1, score::kMaxQuantum, 1},
                                         {-score::kMaxQuantum, score::kMaxQuantum, -1},
                                         {score::kMaxQuantum + 1, score::kMaxQuantum, 2}}) {
    const score::Profile profile{.name = "a", .terms = {}, .quantum = row.quantum};
    EXPECT_EQ(profile.score_class_of(row.score, churning(0)), row.of)
        << row.score << " by " << row.quantum;
  }
}

TEST(ProfileTest, ClassesAreAllAsWideAndInTheOrderOfTheScores) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t size = random.one_in(3) ? 1 + random.draw(5) : 1 + random.draw(1'000'000);
    const std::int64_t score = random.draw(200'000'001) - 100'000'000;
    const score::Profile profile{.name = "a", .terms = {}, .quantum = size};
    const std::int64_t of = profile.score_class_of(score, churning(3));
    ASSERT_LE(score, of * size) << score << " by " << size;
    ASSERT_GT(score, (of - 1) * size) << score << " by " << size;
  }
}

TEST(ProfileTest, WithoutAQuantumEveryScoreIsAClass) {
  for (const std::int64_t score : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                                   std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(score::Profile{}.score_class_of(score, churning(0)), score);
  }
}

TEST(ProfileTest, WeightsAndQuantumGoByRegime) {
  const score::Profile profile{.name = "a",
                               .terms = {{score::find_term("spread"), from_to(0, 16)}},
                               .quantum = from_to(10, 1)};
  EXPECT_EQ(profile.score_class_of(20, churning(0)), 2);
  EXPECT_EQ(profile.score_class_of(20, churning(model::Demand::kFullChurn)), 20);
  const model::NodeStatePtr node = make_state("n1: A 1000 x2");
  const model::GpuRequest request = make_fraction(250);
  const model::Placement placement = fit_all(*node, request).options.front();
  model::Demand demand;
  const score::TermInput input{*node, request, placement, {}, demand};
  const std::int64_t term = score::find_term("spread")->function(input);
  for (int churn = 0; churn <= model::Demand::kFullChurn; ++churn) {
    demand.churn = churn;
    EXPECT_EQ(score::score(profile, input), churn * 16 / model::Demand::kFullChurn * term);
  }
}

}  // namespace
}  // namespace snug::policy_test
