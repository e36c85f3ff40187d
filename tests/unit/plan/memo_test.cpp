#include "snug/plan/memo.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"

namespace snug::memos_test {
namespace {

constexpr std::uint64_t kVersion = 7;

/// One that remembers so many slots, the last of them with this score.
std::unique_ptr<PlanMemo> memo_of(std::size_t slots, std::int64_t score_class = 1) {
  auto memo = std::make_unique<PlanMemo>();
  memo->remember(slots - 1, kVersion, ReasonCode::kNone, score_class);
  return memo;
}

/// How many slots are remembered by the key; what is taken is kept again.
std::size_t kept(PlanMemos& memos, const std::string& key) {
  auto memo = memos.take(key);
  const std::size_t slots = memo->size();
  if (slots > 0) memos.keep(key, std::move(memo));
  return slots;
}

TEST(PlanMemosTest, WhatIsKeptIsThereOnceByItsKey) {
  PlanMemos memos;
  EXPECT_EQ(memos.take("a")->size(), 0U) << "a new one";
  memos.keep("a", memo_of(3));
  memos.keep("b", memo_of(5));
  EXPECT_EQ(memos.take("a")->size(), 3U);
  EXPECT_EQ(memos.take("a")->size(), 0U) << "it is the caller's";
  EXPECT_EQ(memos.take("b")->size(), 5U);
  EXPECT_EQ(memos.take("")->size(), 0U);
}

TEST(PlanMemosTest, WhatIsKeptLaterByTheSameKeyCounts) {
  PlanMemos memos;
  memos.keep("a", memo_of(3, 10));
  memos.keep("a", memo_of(4, 20));
  const auto memo = memos.take("a");
  ASSERT_NE(memo->find(3, kVersion), nullptr);
  EXPECT_EQ(memo->find(3, kVersion)->score_class, 20);
  EXPECT_EQ(memos.take("a")->size(), 0U);
}

TEST(PlanMemosTest, BeyondTheirNumberThoseUsedTheLongestAgoAreForgotten) {
  PlanMemos memos;
  for (std::size_t i = 0; i < kKeptMemos; ++i) memos.keep(std::to_string(i), memo_of(1));
  EXPECT_EQ(kept(memos, "0"), 1U) << "as many as may be; this is the latest now";
  memos.keep("one more", memo_of(1));
  EXPECT_EQ(kept(memos, "1"), 0U);
  for (std::size_t i = 2; i < kKeptMemos; ++i) ASSERT_EQ(kept(memos, std::to_string(i)), 1U) << i;
  EXPECT_EQ(kept(memos, "0"), 1U);
  EXPECT_EQ(kept(memos, "one more"), 1U);
}

TEST(PlanMemosTest, BeyondAllTheirVerdictsThoseUsedTheLongestAgoAreForgotten) {
  PlanMemos memos;
  constexpr std::size_t kThird = kKeptVerdicts / 3;
  for (const std::string_view key : {"a", "b", "c"}) memos.keep(std::string(key), memo_of(kThird));
  EXPECT_EQ(kept(memos, "a"), kThird);
  memos.keep("d", memo_of(kThird));
  EXPECT_EQ(kept(memos, "b"), 0U);
  for (const std::string_view key : {"c", "a", "d"}) {
    EXPECT_EQ(kept(memos, std::string(key)), kThird) << key;
  }
}

TEST(PlanMemosTest, TheLatestIsKeptHoweverMuchItRemembers) {
  PlanMemos memos;
  memos.keep("small", memo_of(1));
  memos.keep("large", memo_of(kKeptVerdicts + 1));
  EXPECT_EQ(kept(memos, "small"), 0U);
  EXPECT_EQ(kept(memos, "large"), kKeptVerdicts + 1);
  memos.keep("next", memo_of(1));
  EXPECT_EQ(kept(memos, "large"), 0U) << "now it is too much";
  EXPECT_EQ(kept(memos, "next"), 1U);
  for (std::size_t i = 1; i < kKeptMemos; ++i) memos.keep(std::to_string(i), memo_of(1));
  EXPECT_EQ(kept(memos, "next"), 1U) << "what was forgotten takes no room";
}

TEST(PlanMemosTest, WhatGrewWhileItWasTheCallersCountsAsItIsNow) {
  PlanMemos memos;
  memos.keep("other", memo_of(1));
  memos.keep("a", memo_of(1));
  auto memo = memos.take("a");
  memo->remember(kKeptVerdicts - 1, kVersion, ReasonCode::kNone, 0);
  memos.keep("a", std::move(memo));
  EXPECT_EQ(kept(memos, "other"), 0U);
  EXPECT_EQ(kept(memos, "a"), kKeptVerdicts);
}

TEST(PlanMemoTest, ForgetsWhereWhatIsLearnedIsAnother) {
  PlanMemo memo;
  memo.learned(5);
  memo.remember(2, kVersion, ReasonCode::kNone, 9);
  memo.learned(5);
  ASSERT_NE(memo.find(2, kVersion), nullptr);
  EXPECT_EQ(memo.find(2, kVersion + 1), nullptr);
  EXPECT_EQ(memo.find(1, kVersion), nullptr) << "a slot of which nothing is known";
  EXPECT_EQ(memo.find(1, 0), nullptr);
  EXPECT_EQ(memo.find(3, kVersion), nullptr);
  memo.learned(6);
  EXPECT_EQ(memo.find(2, kVersion), nullptr);
  memo.learned(5);
  EXPECT_EQ(memo.find(2, kVersion), nullptr) << "it does not come back";
}

}  // namespace
}  // namespace snug::memos_test
