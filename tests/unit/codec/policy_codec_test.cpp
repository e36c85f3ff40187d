#include "snug/codec/policy_codec.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

#include "support/source_file.hpp"

namespace snug::policy_codec_test {
namespace {

struct Row {
  std::string yaml;
  std::string message;  // a part of the error
};

void PrintTo(const Row& row, std::ostream* out) { *out << testing::PrintToString(row.yaml); }

class PolicyRefusedTest : public testing::TestWithParam<Row> {};

TEST_P(PolicyRefusedTest, SaysWhereAndWhatIsExpected) {
  const auto policy = codec::read_policy(GetParam().yaml, "p.yaml", base::Limits{});
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().code, base::ErrorCode::kInvalid);
  EXPECT_NE(policy.error().message.find(GetParam().message), std::string::npos)
      << policy.error().message;
}

std::string with_profiles(const std::string& profiles) {
  return "version: 1\ndefault: a\nprofiles:\n" + profiles;
}

std::string with_term(const std::string& term) {
  return with_profiles("  a: {terms: [" + term + "]}\n");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PolicyRefusedTest,
    testing::Values(
        Row{"",
            "p.yaml:1:1: a policy file must be a map with the keys version, default, profiles, "
            "rules, podChoice, sharing"},
        Row{"[1]", "p.yaml:1:1: a policy file must be a map"},
        Row{"default: a\n", "p.yaml:1:1: the key version is missing; it must be 1"},
        Row{"version: 2\n", "p.yaml:1:10: version must be 1"},
        Row{"version: \"1\"\n", "p.yaml:1:10: version must be 1, without quotes"},
        Row{"version: 1\ndefault: a\n", "the key profiles is missing"},
        Row{"version: 1\nprofile: {}\n", "p.yaml:2:1: unknown key \"profile\"; a policy file has"},
        Row{"version: 1\nprofiles: {}\n", "p.yaml:2:11: profiles must be a map of at least one"},
        Row{"version: 1\nprofiles: [a]\n", "p.yaml:2:11: profiles must be a map"},
        Row{with_profiles("  a: 1\n"), "p.yaml:4:6: a profile must be a map with the keys terms"},
        Row{with_profiles("  a: {term: 1}\n"), "p.yaml:4:7: unknown key \"term\""},
        Row{with_profiles("  a: {}\n"), "p.yaml:4:6: terms must be a list of 1 to 32 terms"},
        Row{with_profiles("  a: {terms: []}\n"), "p.yaml:4:14: terms must be a list of 1 to 32"},
        Row{with_profiles("  '': {terms: []}\n"), "a profile's name must have 1 to 63 printable"},
        Row{with_profiles("  \"a\\nb\": {terms: []}\n"),
            "p.yaml:4:3: a profile's name must have 1 to 63 printable ASCII characters"},
        Row{with_profiles("  a: {terms: [{term: spread, weight: 1}]}\n  " + std::string(64, 'p') +
                          ": {terms: []}\n"),
            "p.yaml:5:3: a profile's name must have 1 to 63 printable ASCII characters"},
        Row{with_term("best-fit"), "p.yaml:4:15: a term must be a map with the keys term, weight"},
        Row{with_term("{term: best, weight: 1}"), "p.yaml:4:22: unknown term \"best\"; the terms"},
        Row{with_term("{term: [], weight: 1}"),
            "p.yaml:4:22: the name of the term is missing; the terms are"},
        Row{with_term("{weight: 1}"),
            "p.yaml:4:15: the name of the term is missing; the terms are best-fit, fgd, "
            "least-used, left-over-size, left-over-value, model-scarcity, multi-gpu-room, "
            "nvlink-locality, slice-reuse, slice-value, spread, stranded-gpu"},
        Row{with_term("{term: spread}"),
            "p.yaml:4:15: the key weight is missing; it must be an integer from -1000000 to"},
        Row{with_term("{term: spread, weight: 1.5}"), "p.yaml:4:38: weight must be"},
        Row{with_term("{term: spread, weight: \"1\"}"),
            "p.yaml:4:38: weight must be an integer from -1000000 to 1000000, without quotes"},
        Row{with_term("{term: spread, weight: 012}"), "p.yaml:4:38: weight must be"},
        Row{with_term("{term: spread, weight: 1000001}"), "p.yaml:4:38: weight must be"},
        Row{with_term("{term: spread, weight: 99999999999999999999}"), "weight must be"},
        Row{with_term("{term: spread, weight: 1, x: 1}"), "p.yaml:4:41: unknown key \"x\""},
        Row{with_term("{term: spread, weight: 1}, {term: spread, weight: 2}"),
            "p.yaml:4:42: the term spread is in this profile twice"},
        Row{"version: 1\ndefault: b\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n",
            "p.yaml:2:10: default must name one of the profiles: a"},
        Row{"version: 1\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n",
            "p.yaml:1:1: default must name one of the profiles: a"},
        Row{"version: 1\nversion: 1\n", "p.yaml:2:1: the key \"version\" is given twice"}));

std::string with_keys(const std::string& keys) {
  return with_profiles("  a: {terms: [{term: spread, weight: 1}], " + keys + "}\n");
}

INSTANTIATE_TEST_SUITE_P(
    ByRegime, PolicyRefusedTest,
    testing::Values(
        Row{with_keys("quantum: 0"),
            "p.yaml:4:52: quantum must be an integer from 1 to 1000000000000"},
        Row{with_keys("quantum: -1"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: 1000000000001"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: 99999999999999999999"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: 1.5"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: [1]"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: ~"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quantum: '5'"),
            "p.yaml:4:52: quantum must be an integer from 1 to 1000000000000, without quotes"},
        Row{with_keys("churnQuantum: 0"),
            "p.yaml:4:57: churnQuantum must be an integer from 1 to 1000000000000"},
        Row{with_keys("churnQuantum: 1000000000001"), "p.yaml:4:57: churnQuantum must be"},
        Row{with_keys("churnQuantum: \"7\""), "to 1000000000000, without quotes"},
        Row{with_keys("quantum: 1, churnQuantum: many"), "p.yaml:4:69: churnQuantum must be"},
        Row{with_keys("quantum: many, churnQuantum: 1"), "p.yaml:4:52: quantum must be"},
        Row{with_keys("quanta: 1"),
            "p.yaml:4:43: unknown key \"quanta\"; a profile has the keys terms, quantum, "
            "churnQuantum"},
        Row{with_keys("churnWeight: 1"), "p.yaml:4:43: unknown key \"churnWeight\"; a profile"},
        Row{with_term("{term: spread, churnWeight: 1}"),
            "p.yaml:4:15: the key weight is missing; it must be an integer from -1000000 to"},
        Row{with_term("{term: spread, weight: 1, churnWeight: 1000001}"),
            "p.yaml:4:54: churnWeight must be an integer from -1000000 to 1000000"},
        Row{with_term("{term: spread, weight: 1, churnWeight: -1000001}"),
            "p.yaml:4:54: churnWeight must be"},
        Row{with_term("{term: spread, weight: 1, churnWeight: 0.5}"),
            "p.yaml:4:54: churnWeight must be"},
        Row{with_term("{term: spread, weight: 1, churnWeight: '1'}"),
            "p.yaml:4:54: churnWeight must be an integer from -1000000 to 1000000, without quotes"},
        Row{with_term("{term: spread, weight: 1, saturatedWeight: 1000001}"),
            "p.yaml:4:58: saturatedWeight must be an integer from -1000000 to 1000000"},
        Row{with_term("{term: spread, weight: 1, churnWeight: {}}"),
            "p.yaml:4:54: churnWeight must be"},
        Row{with_term("{term: spread, weight: 1, churnQuantum: 1}"),
            "p.yaml:4:41: unknown key \"churnQuantum\"; a term has the keys term, weight, "
            "churnWeight"}));

struct Numbers {
  std::string profile;  // after its name
  score::ByRegime quantum;
  score::ByRegime weight;
};

void PrintTo(const Numbers& row, std::ostream* out) { *out << testing::PrintToString(row.profile); }

class ByRegimeTest : public testing::TestWithParam<Numbers> {};

TEST_P(ByRegimeTest, WithoutTheKeyForChurnANumberIsTheSameInBoth) {
  const auto policy =
      codec::read_policy(with_profiles("  a: " + GetParam().profile + "\n"), "p", base::Limits{});
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  const score::Profile& profile = policy->default_profile();
  EXPECT_EQ(profile.quantum, GetParam().quantum);
  ASSERT_EQ(profile.terms.size(), 1U);
  EXPECT_EQ(profile.terms[0].weight, GetParam().weight);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ByRegimeTest,
    testing::Values(Numbers{"{terms: [{term: spread, weight: 7}]}", 1, 7},
                    Numbers{"{terms: [{term: spread, weight: 7}], quantum: 1}", 1, 7},
                    Numbers{"{quantum: 1000000000000, terms: [{term: spread, weight: 7}]}",
                            score::kMaxQuantum, 7},
                    Numbers{"{terms: [{term: spread, weight: 7}], quantum: 30, churnQuantum: 2}",
                            score::ByRegime({30, 2, 2}), 7},
                    Numbers{"{terms: [{term: spread, weight: 7}], churnQuantum: 5}",
                            score::ByRegime({1, 5, 5}), 7},
                    Numbers{"{terms: [{term: spread, weight: 7, churnWeight: 7}]}", 1, 7},
                    Numbers{"{terms: [{churnWeight: -1000000, term: fgd, weight: 1000000}]}", 1,
                            score::ByRegime({1'000'000, -1'000'000, -1'000'000})},
                    Numbers{"{terms: [{term: fgd, weight: 0, churnWeight: 1}]}", 1,
                            score::ByRegime({0, 1, 1})},
                    Numbers{"{terms: [{term: fgd, weight: 3, saturatedWeight: 9}]}", 1,
                            score::ByRegime({3, 3, 9})},
                    Numbers{"{terms: [{term: fgd, weight: 3, churnWeight: 4, saturatedWeight: 9}]}",
                            1, score::ByRegime({3, 4, 9})}));

TEST(PolicyCodecTest, ProfilesKeepTheirTermsAndWeights) {
  const auto policy = codec::read_policy(
      "version: 1\n"
      "default: tight\n"
      "profiles:\n"
      "  tight: {terms: [{term: best-fit, weight: 1000}, {term: spread, weight: -1000000}]}\n"
      "  wide:\n"
      "    terms:\n"
      "    - {weight: 0, term: spread}\n",
      "p", base::Limits{});
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->default_profile_name, "tight");
  ASSERT_EQ(policy->profiles.size(), 2U);
  const score::Profile& tight = policy->default_profile();
  EXPECT_EQ(tight.name, "tight");
  ASSERT_EQ(tight.terms.size(), 2U);
  EXPECT_EQ(tight.terms[0].term, score::find_term("best-fit"));
  EXPECT_EQ(tight.terms[0].weight, score::ByRegime(1000));
  EXPECT_EQ(tight.terms[1].term, score::find_term("spread"));
  EXPECT_EQ(tight.terms[1].weight, score::ByRegime(-1'000'000));
  EXPECT_EQ(policy->profiles.at("wide").terms[0].weight, 0);
}

TEST(PolicyCodecTest, ANameMayHaveAsManyCharactersAsAPodMayAskBy) {
  const std::string name(63, 'p');
  const auto policy = codec::read_policy("version: 1\ndefault: " + name + "\nprofiles:\n  " + name +
                                             ": {terms: [{term: spread, weight: 1}]}\n",
                                         "p", base::Limits{});
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->default_profile_name, name);
}

TEST(PolicyCodecTest, TheNumberOfTermsHasALimit) {
  base::Limits limits;
  limits.max_policy_terms = 1;
  const auto policy = codec::read_policy(
      with_term("{term: best-fit, weight: 1}, {term: spread, weight: 1}"), "p", limits);
  ASSERT_FALSE(policy.has_value());
  EXPECT_NE(policy.error().message.find("1 to 1 terms"), std::string::npos);
}

TEST(PolicyCodecTest, TheDefaultPolicyLoads) {
  const auto policy = codec::read_policy(codec::default_policy_yaml(), "default", base::Limits{});
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_EQ(policy->default_profile_name, "tight");
}

TEST(PolicyCodecTest, EveryShippedPolicyLoads) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_file("policies"))) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const auto policy =
        codec::read_policy(text.str(), entry.path().filename().string(), base::Limits{});
    EXPECT_TRUE(policy.has_value()) << policy.error().message;
    EXPECT_EQ(policy->default_profile_name, entry.path().stem().string());
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace snug::policy_codec_test
