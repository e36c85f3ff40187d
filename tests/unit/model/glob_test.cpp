#include "snug/model/glob.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace snug {
namespace {

TEST(GlobTest, AStarIsAnyTextAndAQuestionMarkAnyOneByte) {
  struct Row {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  };
  const std::vector<Row> rows = {
      {"", "", true},         {"", "a", false},          {"a", "", false},
      {"*", "", true},        {"*", "any", true},        {"**", "", true},
      {"?", "", false},       {"?", "a", true},          {"?", "ab", false},
      {"ml-*", "ml-", true},  {"ml-*", "ml-a", true},    {"ml-*", "xml-a", false},
      {"*-ml", "a-ml", true}, {"*-ml", "a-mlx", false},  {"a*c", "abcbc", true},
      {"a*c", "abcb", false}, {"*a?c*", "xxabcx", true}, {"*a?c*", "xxacx", false},
      {"a**b", "ab", true},   {"a?*", "a", false},       {"[a]", "a", false},
      {"a.c", "abc", false},  {"A", "a", false},         {"\\*", "*", false}};
  for (const Row& row : rows) {
    EXPECT_EQ(glob_matches(row.pattern, row.text), row.matches)
        << row.pattern << " on " << row.text;
  }
}

TEST(GlobTest, WithoutCaseOnlyAsciiLettersAreAlike) {
  EXPECT_TRUE(glob_matches("nvidia-a100*", "NVIDIA-A100-SXM4-40GB", LetterCase::kAny));
  EXPECT_TRUE(glob_matches("NVIDIA-?100*", "nvidia-h100-80gb", LetterCase::kAny));
  EXPECT_FALSE(glob_matches("[", "{", LetterCase::kAny));  // 32 apart, as letters of two cases are
  EXPECT_FALSE(glob_matches("@", "`", LetterCase::kAny));
}

// A matcher that tried every way to divide the text among the stars would not end in our lifetime.
TEST(GlobTest, ManyStarsCostNoMoreThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 1'000; ++i) pattern += "*a";
  const std::string text(10'000, 'a');
  EXPECT_TRUE(glob_matches(pattern, text));
  EXPECT_FALSE(glob_matches(pattern + "b", text));
  EXPECT_FALSE(glob_matches(pattern + "*b*", text));
}

TEST(GlobTest, OneOfSeveralPatternsIsEnough) {
  const std::vector<std::string> patterns = {"T4", "A100*"};
  EXPECT_TRUE(any_glob_matches(patterns, "A100-40"));
  EXPECT_FALSE(any_glob_matches(patterns, "a100-40"));
  EXPECT_TRUE(any_glob_matches(patterns, "a100-40", LetterCase::kAny));
  EXPECT_FALSE(any_glob_matches({}, "A100"));
}

TEST(BareModelTest, WhatNvidiaAppendsForSharingIsLeftOut) {
  EXPECT_EQ(bare_model("NVIDIA-A100-SXM4-40GB"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(bare_model("Tesla-T4-SHARED"), "Tesla-T4");
  EXPECT_EQ(bare_model("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(bare_model("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(bare_model(""), "");
}

TEST(ModelFilterTest, ExcludedModelsWinOverWantedOnes) {
  const ModelFilter filter{{"*a100*", "*h100*"}, {"*80GB*"}};
  EXPECT_TRUE(filter.allows("NVIDIA-A100-SXM4-40GB"));
  EXPECT_TRUE(filter.allows("NVIDIA-A100-SXM4-40GB-SHARED"));
  EXPECT_FALSE(filter.allows("NVIDIA-A100-SXM4-80GB"));
  EXPECT_FALSE(filter.allows("Tesla-T4"));
  const ModelFilter but{{}, {"*T4*"}};
  EXPECT_TRUE(but.allows("NVIDIA-L4"));
  EXPECT_FALSE(but.allows("Tesla-T4"));
  EXPECT_TRUE(ModelFilter{}.allows("anything"));
}

TEST(ModelFilterTest, TheBrandMayBeLeftOut) {
  const ModelFilter a100{{"a100*"}, {}};
  EXPECT_TRUE(a100.allows("NVIDIA-A100-SXM4-40GB"));
  EXPECT_TRUE(a100.allows("NVIDIA A100-SXM4-40GB"));
  EXPECT_TRUE(a100.allows("A100"));
  EXPECT_FALSE(a100.allows("NVIDIAA100"));
  EXPECT_FALSE(a100.allows("NVIDIA-H100-like-A100"));
  EXPECT_TRUE((ModelFilter{{"T4"}, {}}.allows("Tesla-T4")));
  EXPECT_FALSE((ModelFilter{{}, {"T4"}}.allows("Tesla-T4-SHARED")));
}

}  // namespace
}  // namespace snug
