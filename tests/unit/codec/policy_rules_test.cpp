// The lists of a policy file: rules, podChoice, sharing.
#include <gtest/gtest.h>

#include <ostream>

#include "snug/codec/policy_codec.hpp"

namespace snug::policy_rows_test {
namespace {

struct Row {
  std::string yaml;     // from line 4 on
  std::string message;  // a part of the error
};

void PrintTo(const Row& row, std::ostream* out) { *out << testing::PrintToString(row.yaml); }

base::Result<score::Policy> read(const std::string& rows, const base::Limits& limits = {}) {
  return codec::read_policy(
      "version: 1\n"
      "default: a\n"
      "profiles: {a: {terms: [{term: spread, weight: 1}]}, b: {terms: [{term: best-fit, weight: "
      "1}]}}\n" +
          rows,
      "p", limits);
}

class PolicyRowsRefusedTest : public testing::TestWithParam<Row> {};

TEST_P(PolicyRowsRefusedTest, SaysWhereAndWhatIsExpected) {
  const auto policy = read(GetParam().yaml);
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().code, base::ErrorCode::kInvalid);
  EXPECT_TRUE(policy.error().message.starts_with("p:" + GetParam().message))
      << policy.error().message;
}

std::string rule(const std::string& text) { return "rules:\n- " + text + "\n"; }
std::string choice(const std::string& text) { return "podChoice:\n- " + text + "\n"; }
std::string sharing(const std::string& text) { return "sharing:\n- " + text + "\n"; }

INSTANTIATE_TEST_SUITE_P(
    Lists, PolicyRowsRefusedTest,
    testing::Values(
        Row{"rules: ~\n", "4:8: rules must be a list of 1 to 256 rules (limit maxPolicyRows)"},
        Row{"rules: []\n", "4:8: rules must be a list of 1 to 256"},
        Row{"rules: {profile: a}\n", "4:8: rules must be a list of 1 to 256"},
        Row{"podChoice: []\n", "4:12: podChoice must be a list of 1 to 256 rows"},
        Row{"podChoice: all\n", "4:12: podChoice must be a list of 1 to 256 rows"},
        Row{"sharing: []\n", "4:10: sharing must be a list of 1 to 256 rows"},
        Row{"sharing: any\n", "4:10: sharing must be a list of 1 to 256 rows"},
        Row{rule("{namespaces: [], profile: a}"),
            "5:16: namespaces must be a list of 1 to 256 namespaces' names or patterns"},
        Row{rule("{namespaces: ml, profile: a}"), "5:16: namespaces must be a list"},
        Row{rule("{namespaces: [{}], profile: a}"),
            "5:17: each entry of namespaces must be a non-empty text"},
        Row{rule("{namespaces: [~], profile: a}"),
            "5:17: each entry of namespaces must be a non-empty text"},
        Row{rule("{namespaces: [''], profile: a}"),
            "5:17: each entry of namespaces must be a non-empty text"},
        Row{rule("{namespaces: [x, y, x], profile: a}"), "5:23: \"x\" is in namespaces twice"},
        Row{rule("{namespaces: [x, Team], profile: a}"),
            "5:20: \"Team\" matches no namespace; a pattern has lower-case letters, digits, -, *"},
        Row{rule("{namespaces: ['x,y'], profile: a}"), "5:17: \"x,y\" matches no namespace"}));

INSTANTIATE_TEST_SUITE_P(
    Rules, PolicyRowsRefusedTest,
    testing::Values(
        Row{rule("a"), "5:3: a rule must be a map with the keys namespaces, podLabels, gpuModels"},
        Row{rule("{namespace: [x], profile: a}"),
            "5:4: unknown key \"namespace\"; a rule has the keys namespaces, podLabels,"},
        Row{rule("{namespaces: [x], namespaces: [y], profile: a}"),
            "5:21: the key \"namespaces\" is given twice"},
        Row{rule("{namespaces: [x]}"),
            "5:3: the key profile is missing; it must name one of the profiles: a, b"},
        Row{rule("{profile: c}"), "5:13: profile must name one of the profiles: a, b"},
        Row{rule("{profile: [a]}"), "5:13: profile must name one of the profiles"},
        Row{rule("{podLabels: {}, profile: a}"),
            "5:15: podLabels must be a map of 1 to 256 labels to their values"},
        Row{rule("{podLabels: [tier], profile: a}"), "5:15: podLabels must be a map"},
        Row{rule("{podLabels: {tier: }, profile: a}"),
            "5:22: a label's value must be a text; \"\" is the empty text"},
        Row{rule("{podLabels: {tier: [x]}, profile: a}"), "5:22: a label's value must be a text"},
        Row{rule("{podLabels: {'': x}, profile: a}"), "5:16: a label's name must not be empty"},
        Row{rule("{gpuModels: [], profile: a}"),
            "5:15: gpuModels must be a list of 1 to 256 GPU models' names or patterns"},
        Row{rule("{gpuModels: A100, profile: a}"), "5:15: gpuModels must be a list"},
        Row{rule("{gpuModels: [T4, \"A\\t*\"], profile: a}"),
            "5:20: each entry of gpuModels must be a non-empty text of printable ASCII"},
        Row{rule("{gpuModels: [A*, A*], profile: a}"), "5:20: \"A*\" is in gpuModels twice"},
        Row{rule("{gpuModels: [T4, '!A*'], profile: a}"),
            "5:20: a pattern of gpuModels cannot exclude with !; put a rule for that model"},
        Row{rule("{profile: b}\n- {namespaces: [x], profile: a}"),
            "6:3: this rule has no effect, because the one in line 5 matches every pod; put that"},
        Row{rule("{namespaces: [x], profile: a}\n- {namespaces: [y, '**'], profile: b}\n"
                 "- {gpuModels: [T4], profile: a}"),
            "7:3: this rule has no effect, because the one in line 6 matches every pod"}));

INSTANTIATE_TEST_SUITE_P(
    PodChoice, PolicyRowsRefusedTest,
    testing::Values(
        Row{choice("[a]"), "5:3: a row of podChoice must be a map with the keys namespaces, prof"},
        Row{choice("{namespaces: [x], profile: a}"),
            "5:21: unknown key \"profile\"; a row of podC"},
        Row{choice("{profiles: [a]}"),
            "5:3: the key namespaces is missing; [\"*\"] means all of them"},
        Row{choice("{namespaces: [x]}"),
            "5:3: the key profiles is missing; it must be a list of profiles' names"},
        Row{choice("{namespaces: [x], profiles: []}"), "5:31: profiles must be a list of 1 to 256"},
        Row{choice("{namespaces: [x], profiles: a}"), "5:31: profiles must be a list of 1 to 256"},
        Row{choice("{namespaces: [x], profiles: [a, a]}"), "5:35: \"a\" is in profiles twice"},
        Row{choice("{namespaces: [x], profiles: [a, c]}"),
            "5:35: each entry of profiles must name one of the profiles: a, b"},
        Row{choice("{namespaces: [], profiles: [a]}"), "5:16: namespaces must be a list"}));

INSTANTIATE_TEST_SUITE_P(
    Sharing, PolicyRowsRefusedTest,
    testing::Values(
        Row{sharing("any"), "5:3: a row of sharing must be a map with the keys namespaces, neighb"},
        Row{sharing("{neighbours: any}"), "5:3: the key namespaces is missing; [\"*\"] means all"},
        Row{sharing("{namespaces: [x]}"),
            "5:3: a row of sharing must have at least one of the keys neighbours, capMilli, requi"},
        Row{sharing("{namespaces: [x], neighbors: any}"), "5:21: unknown key \"neighbors\"; a row"},
        Row{sharing("{namespaces: [x], neighbours: none}"),
            "5:33: neighbours must be any or namespace"},
        Row{sharing("{namespaces: [x], neighbours: [any]}"), "5:33: neighbours must be any or"},
        Row{sharing("{namespaces: [x], capMilli: -1}"),
            "5:31: capMilli must be an integer from 0 to 1000000000, without quotes; 1000 is one"},
        Row{sharing("{namespaces: [x], capMilli: 1000000001}"), "5:31: capMilli must be"},
        Row{sharing("{namespaces: [x], capMilli: 1.5}"), "5:31: capMilli must be an integer"},
        Row{sharing("{namespaces: [x], capMilli: '4000'}"), "5:31: capMilli must be an integer"},
        Row{sharing("{namespaces: [x], capMilli: 0400}"), "5:31: capMilli must be an integer"},
        Row{sharing("{namespaces: [x], capMilli: }"), "5:31: capMilli must be an integer"},
        Row{sharing("{namespaces: [x], requireEnforcement: yes}"),
            "5:41: requireEnforcement must be true or false, without quotes"},
        Row{sharing("{namespaces: [x], requireEnforcement: 'true'}"), "5:41: requireEnforcement"},
        Row{sharing("{namespaces: [x], requireEnforcement: True}"), "5:41: requireEnforcement"},
        Row{sharing("{namespaces: ['*'], neighbours: any}\n- {namespaces: [x], capMilli: 1}"),
            "6:3: this row has no effect, because the one in line 5 matches every pod"},
        Row{sharing("{namespaces: [x], capMilli: 1}\n- {namespaces: [x], capMilli: 2}"),
            "6:17: \"x\" has no effect here, because the row in line 5 matches it first (\"x\")"},
        Row{sharing("{namespaces: [a, x], capMilli: 1}\n- {namespaces: [b], capMilli: 2}\n"
                    "- {namespaces: [c, x], capMilli: 2}"),
            "7:20: \"x\" has no effect here, because the row in line 5 matches it first (\"x\")"},
        Row{sharing("{namespaces: [ml-*], capMilli: 1}\n- {namespaces: [web, ml-a], capMilli: 2}"),
            "6:22: \"ml-a\" has no effect here, because the row in line 5 matches it first "
            "(\"ml-*\"); the first row that matches a namespace applies to it"},
        Row{sharing("{namespaces: ['*-dev'], capMilli: 1}\n- {namespaces: [a*-dev], capMilli: 2}"),
            "6:17: \"a*-dev\" has no effect here, because the row in line 5"},
        Row{sharing("{namespaces: ['a?'], capMilli: 1}\n- {namespaces: ['a?'], capMilli: 2}"),
            "6:17: \"a?\" has no effect here, because the row in line 5"}));

INSTANTIATE_TEST_SUITE_P(
    RulesWithoutFurtherConditions, PolicyRowsRefusedTest,
    testing::Values(
        Row{rule("{namespaces: [x], profile: a}\n- {namespaces: [x], profile: b}"),
            "6:17: \"x\" has no effect here, because the rule in line 5 matches it first (\"x\")"},
        Row{rule("{namespaces: [ml-*], profile: a}\n- {namespaces: [web], profile: b}\n"
                 "- {namespaces: [ml-a], gpuModels: [T4], profile: b}"),
            "7:17: \"ml-a\" has no effect here, because the rule in line 5 matches it first "
            "(\"ml-*\")"}));

TEST(PolicyRowsTest, PatternsThatOnlyOverlapAreNoMistake) {
  for (const char* rows :
       {"sharing:\n- {namespaces: [ml-a], capMilli: 1}\n- {namespaces: [ml-*], capMilli: 2}\n",
        "sharing:\n- {namespaces: ['ml-?'], capMilli: 1}\n- {namespaces: [ml-*], capMilli: 2}\n",
        "sharing:\n- {namespaces: ['a*b'], capMilli: 1}\n- {namespaces: [a*], capMilli: 2}\n",
        "sharing:\n- {namespaces: ['*', x], capMilli: 1}\n",
        "rules:\n- {namespaces: [x], gpuModels: [T4], profile: a}\n- {namespaces: [x], profile: "
        "b}\n",
        "rules:\n- {namespaces: [x], podLabels: {a: b}, profile: a}\n- {namespaces: [x], profile: "
        "b}\n",
        "podChoice:\n- {namespaces: [x], profiles: [a]}\n- {namespaces: [x], profiles: [b]}\n"}) {
    const auto policy = read(rows);
    EXPECT_TRUE(policy.has_value()) << rows << policy.error().message;
  }
}

TEST(PolicyRowsTest, EveryListIsReadInItsOrder) {
  const auto policy = read(
      "rules:\n"
      "- {namespaces: [ml-*, web], podLabels: {tier: batch, zone: \"\"}, gpuModels: [A100*], "
      "profile: b}\n"
      "- {profile: a}\n"
      "podChoice:\n"
      "- {namespaces: [ml-*], profiles: [b, a]}\n"
      "- {namespaces: [\"*\"], profiles: [a]}\n"
      "sharing:\n"
      "- {namespaces: [secret], neighbours: namespace, requireEnforcement: true}\n"
      "- {namespaces: [free], neighbours: any, requireEnforcement: false}\n"
      "- {namespaces: [\"*\"], capMilli: 4000}\n");
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  ASSERT_EQ(policy->rules.size(), 2U);
  const score::ProfileRule& first = policy->rules[0];
  EXPECT_EQ(first.namespaces, (std::vector<std::string>{"ml-*", "web"}));
  EXPECT_EQ(first.pod_labels,
            (std::map<std::string, std::string>{{"tier", "batch"}, {"zone", ""}}));
  EXPECT_EQ(first.gpu_models, (std::vector<std::string>{"A100*"}));
  EXPECT_EQ(first.profile, "b");
  EXPECT_TRUE(policy->rules[1].namespaces.empty() && policy->rules[1].gpu_models.empty());
  ASSERT_EQ(policy->pod_choice.size(), 2U);
  EXPECT_EQ(policy->pod_choice[0].namespaces, (std::vector<std::string>{"ml-*"}));
  EXPECT_EQ(policy->pod_choice[0].profiles, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(policy->sharing.rows(),
            (std::vector<model::SharingRow>{
                {{"secret"}, {.own_namespace_only = true, .require_enforcement = true}},
                {{"free"}, {}},
                {{"*"}, {.cap = base::MilliGpu{4000}}}}));
}

TEST(PolicyRowsTest, TheSmallestAndTheLargestCapAreCaps) {
  for (const std::int64_t cap : {std::int64_t{0}, base::kLargestQuantity}) {
    const auto policy = read(sharing("{namespaces: [x], capMilli: " + std::to_string(cap) + "}"));
    ASSERT_TRUE(policy.has_value()) << policy.error().message;
    EXPECT_EQ(policy->sharing.rule_for("x").cap, base::MilliGpu{cap});
  }
}

TEST(PolicyRowsTest, WithoutListsNothingIsRestrictedOrOpen) {
  const auto policy = read("");
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_TRUE(policy->rules.empty() && policy->pod_choice.empty());
  EXPECT_EQ(policy->sharing.rule_for("x"), model::SharingRule{});
}

TEST(PolicyRowsTest, RowsAndTheirEntriesHaveALimit) {
  base::Limits limits;
  limits.max_policy_rows = 2;
  const std::string rows =
      "- {namespaces: [x, y], capMilli: 1}\n- {namespaces: [z], capMilli: 1}\n";
  EXPECT_TRUE(read("sharing:\n" + rows, limits).has_value());
  const auto too_many = read("sharing:\n" + rows + rows, limits);
  ASSERT_FALSE(too_many.has_value());
  EXPECT_EQ(too_many.error().message,
            "p:5:1: sharing must be a list of 1 to 2 rows (limit maxPolicyRows)");
  for (const char* wide : {"rules: [{namespaces: [x, y, z], profile: a}]\n",
                           "rules: [{gpuModels: [x, y, z], profile: a}]\n",
                           "rules: [{podLabels: {x: x, y: y, z: z}, profile: a}]\n"}) {
    const auto refused = read(wide, limits);
    ASSERT_FALSE(refused.has_value()) << wide;
    EXPECT_NE(refused.error().message.find("1 to 2"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace snug::policy_rows_test
