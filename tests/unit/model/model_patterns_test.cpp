#include "snug/model/model_patterns.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/random.hpp"

namespace snug::glob_test {
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
    EXPECT_EQ(model::glob_matches(row.pattern, row.text), row.matches)
        << row.pattern << " on " << row.text;
  }
}

TEST(GlobTest, WithoutCaseOnlyAsciiLettersAreAlike) {
  EXPECT_TRUE(
      model::glob_matches("nvidia-a100*", "NVIDIA-A100-SXM4-40GB", model::LetterCase::kAny));
  EXPECT_TRUE(model::glob_matches("NVIDIA-?100*", "nvidia-h100-80gb", model::LetterCase::kAny));
  EXPECT_FALSE(model::glob_matches(
      "[", "{", model::LetterCase::kAny));  // 32 apart, as letters of two cases are
  EXPECT_FALSE(model::glob_matches("@", "`", model::LetterCase::kAny));
}

// A matcher that tried every way to divide the text among the stars would not end in our lifetime.
TEST(GlobTest, ManyStarsCostNoMoreThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 1'000; ++i) pattern += "*a";
  const std::string text(10'000, 'a');
  EXPECT_TRUE(model::glob_matches(pattern, text));
  EXPECT_FALSE(model::glob_matches(pattern + "b", text));
  EXPECT_FALSE(model::glob_matches(pattern + "*b*", text));
}

TEST(GlobTest, OneOfSeveralPatternsIsEnough) {
  const std::vector<std::string> patterns = {"T4", "A100*"};
  EXPECT_TRUE(model::any_glob_matches(patterns, "A100-40"));
  EXPECT_FALSE(model::any_glob_matches(patterns, "a100-40"));
  EXPECT_TRUE(model::any_glob_matches(patterns, "a100-40", model::LetterCase::kAny));
  EXPECT_FALSE(model::any_glob_matches({}, "A100"));
}

TEST(BareModelTest, WhatNvidiaAppendsForSharingIsLeftOut) {
  EXPECT_EQ(model::strip_sharing_suffix("NVIDIA-A100-SXM4-40GB"), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(model::strip_sharing_suffix("Tesla-T4-SHARED"), "Tesla-T4");
  EXPECT_EQ(model::strip_sharing_suffix("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"),
            "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(model::strip_sharing_suffix("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"),
            "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(model::strip_sharing_suffix(""), "");
}

TEST(ModelFilterTest, ExcludedModelsWinOverWantedOnes) {
  const model::ModelFilter filter{{"*a100*", "*h100*"}, {"*80GB*"}};
  EXPECT_TRUE(filter.allows("NVIDIA-A100-SXM4-40GB"));
  EXPECT_TRUE(filter.allows("NVIDIA-A100-SXM4-40GB-SHARED"));
  EXPECT_FALSE(filter.allows("NVIDIA-A100-SXM4-80GB"));
  EXPECT_FALSE(filter.allows("Tesla-T4"));
  const model::ModelFilter but{{}, {"*T4*"}};
  EXPECT_TRUE(but.allows("NVIDIA-L4"));
  EXPECT_FALSE(but.allows("Tesla-T4"));
  EXPECT_TRUE(model::ModelFilter{}.allows("anything"));
}

TEST(ModelFilterTest, TheBrandMayBeLeftOut) {
  const model::ModelFilter a100{{"a100*"}, {}};
  EXPECT_TRUE(a100.allows("NVIDIA-A100-SXM4-40GB"));
  EXPECT_TRUE(a100.allows("NVIDIA A100-SXM4-40GB"));
  EXPECT_TRUE(a100.allows("A100"));
  EXPECT_FALSE(a100.allows("NVIDIAA100"));
  EXPECT_FALSE(a100.allows("NVIDIA-H100-like-A100"));
  EXPECT_TRUE((model::ModelFilter{{"T4"}, {}}.allows("Tesla-T4")));
  EXPECT_FALSE((model::ModelFilter{{}, {"T4"}}.allows("Tesla-T4-SHARED")));
}

TEST(ModelTest, AModelIsUpTo128PrintableCharacters) {
  for (const std::string& text : {std::string(" "), std::string("~"), std::string(128, 'A')}) {
    EXPECT_TRUE(model::is_valid_model_name(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string(129, 'A'), std::string("A\x1f"), std::string("A\x7f"),
        std::string("A\n"), std::string(1, '\0'), std::string("\xC3\xA9")}) {
    EXPECT_FALSE(model::is_valid_model_name(text)) << text;
  }
}

/// Of few characters, so that patterns meet them often; brands and suffixes among them.
std::string draw_text(Random& random, std::int64_t most, const std::vector<std::string>& parts) {
  std::string text;
  const std::int64_t size = random.draw(most + 1);
  while (static_cast<std::int64_t>(text.size()) < size) text += random.pick(parts);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// What ModelMatcher::matches() says of itself, by the other matcher.
bool glob_finds(std::string_view pattern, std::string_view model) {
  std::string_view bare = model::strip_sharing_suffix(model);
  if (model::glob_matches(pattern, bare, model::LetterCase::kAny)) return true;
  for (const std::string_view brand : {"NVIDIA-", "NVIDIA ", "Tesla-", "Tesla "}) {
    if (!bare.starts_with(brand)) continue;
    return model::glob_matches(pattern, bare.substr(brand.size()), model::LetterCase::kAny);
  }
  return false;
}

// The two matchers have nothing in common.
TEST(ModelTextTest, FindsWhatTheGlobMatcherFinds) {
  const std::vector<std::string> model_parts = {"a", "A", "b", "-", "aa", "NVIDIA-", "Tesla "};
  const std::vector<std::string> pattern_parts = {"a", "b", "?", "*", "B", "-", "aa", "nvidia-"};
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t most = random.pick<std::int64_t>({0, 3, 8, 20, 64, 114});
    std::string model = random.pick<std::string>({"", "", "NVIDIA-", "Tesla "});
    model += draw_text(random, most, model_parts);
    if (random.one_in(4)) model += "-SHARED";
    const model::ModelMatcher text(model);
    for (int i = 0; i < 200; ++i) {
      const std::string pattern =
          draw_text(random, random.pick<std::int64_t>({2, 6, 30, 130}), pattern_parts);
      const bool expected = glob_finds(pattern, model);
      ASSERT_EQ(text.matches(pattern), expected) << pattern << " on " << model;
      found += expected ? 1 : 0;
    }
  }
  EXPECT_GT(found, 2'000);
}

TEST(ModelTextTest, TheLongestModelIsComparedToItsEnd) {
  const std::string model = std::string(127, 'a') + 'b';
  const model::ModelMatcher text(model);
  for (const std::string& pattern :
       {model, std::string(128, '?'), std::string("*b"), std::string(127, '?') + 'b',
        std::string("*a*?b"), std::string(127, 'A') + '*', '*' + model + '*'}) {
    EXPECT_TRUE(text.matches(pattern)) << pattern;
  }
  for (const std::string& pattern :
       {std::string(127, '?'), std::string(129, '?'), std::string(128, 'a'), '*' + model + '?',
        std::string("*a"), std::string(), std::string("*b*b")}) {
    EXPECT_FALSE(text.matches(pattern)) << pattern;
  }
}

TEST(ModelTextTest, AnEqualsSignIsACharacterLikeOthers) {
  EXPECT_FALSE(model::ModelMatcher("A100").matches("=A100"));
  EXPECT_TRUE(model::ModelMatcher("=A100").matches("=a1*"));
}

TEST(ModelFilterTest, AnEqualsSignIsTheVeryName) {
  const auto allows = [](const std::string& pattern, const std::string& model) {
    return model::ModelFilter{{pattern}, {}}.allows(model);
  };
  for (const std::string name : {"A100", "NVIDIA-A100", "A100-SHARED", "*", ""}) {
    EXPECT_TRUE(allows('=' + name, name)) << name;
  }
  for (const std::string name :
       {"a100", "NVIDIA-A100", "A100-SHARED", "A100-MIG-1g.5gb", "A10", ""}) {
    EXPECT_FALSE(allows("=A100", name)) << name;
  }
  EXPECT_FALSE(allows("=*", "A100"));
  EXPECT_FALSE(allows("=", "A100"));
}

}  // namespace
}  // namespace snug::glob_test
