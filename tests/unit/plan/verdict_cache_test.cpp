#include "snug/plan/verdict_cache.hpp"

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
std::unique_ptr<plan::VerdictCache> memo_of(std::size_t slots, std::int64_t score_class = 1) {
  auto memo = std::make_unique<plan::VerdictCache>();
  memo->put(slots - 1, kVersion, model::ReasonCode::kNone, score_class);
  return memo;
}

/// How many slots are remembered by the key; what is taken is kept again.
std::size_t kept(plan::VerdictCaches& caches, const std::string& key) {
  auto memo = caches.take(key);
  const std::size_t slots = memo->size();
  if (slots > 0) caches.put_back(key, std::move(memo));
  return slots;
}

TEST(PlanMemosTest, WhatIsKeptIsThereOnceByItsKey) {
  plan::VerdictCaches caches;
  EXPECT_EQ(caches.take("a")->size(), 0U) << "a new one";
  caches.put_back("a", memo_of(3));
  caches.put_back("b", memo_of(5));
  EXPECT_EQ(caches.take("a")->size(), 3U);
  EXPECT_EQ(caches.take("a")->size(), 0U) << "it is the caller's";
  EXPECT_EQ(caches.take("b")->size(), 5U);
  EXPECT_EQ(caches.take("")->size(), 0U);
}

TEST(PlanMemosTest, WhatIsKeptLaterByTheSameKeyCounts) {
  plan::VerdictCaches caches;
  caches.put_back("a", memo_of(3, 10));
  caches.put_back("a", memo_of(4, 20));
  const auto memo = caches.take("a");
  ASSERT_NE(memo->find(3, kVersion), nullptr);
  EXPECT_EQ(memo->find(3, kVersion)->score_class, 20);
  EXPECT_EQ(caches.take("a")->size(), 0U);
}

TEST(PlanMemosTest, BeyondTheirNumberThoseUsedTheLongestAgoAreForgotten) {
  plan::VerdictCaches caches;
  for (std::size_t i = 0; i < base::kMaxVerdictCaches; ++i)
    caches.put_back(std::to_string(i), memo_of(1));
  EXPECT_EQ(kept(caches, "0"), 1U) << "as many as may be; this is the latest now";
  caches.put_back("one more", memo_of(1));
  EXPECT_EQ(kept(caches, "1"), 0U);
  for (std::size_t i = 2; i < base::kMaxVerdictCaches; ++i)
    ASSERT_EQ(kept(caches, std::to_string(i)), 1U) << i;
  EXPECT_EQ(kept(caches, "0"), 1U);
  EXPECT_EQ(kept(caches, "one more"), 1U);
}

TEST(PlanMemosTest, BeyondAllTheirVerdictsThoseUsedTheLongestAgoAreForgotten) {
  plan::VerdictCaches caches;
  constexpr std::size_t kThird = base::kMaxCachedVerdicts / 3;
  for (const std::string_view key : {"a", "b", "c"})
    caches.put_back(std::string(key), memo_of(kThird));
  EXPECT_EQ(kept(caches, "a"), kThird);
  caches.put_back("d", memo_of(kThird));
  EXPECT_EQ(kept(caches, "b"), 0U);
  for (const std::string_view key : {"c", "a", "d"}) {
    EXPECT_EQ(kept(caches, std::string(key)), kThird) << key;
  }
}

TEST(PlanMemosTest, TheLatestIsKeptHoweverMuchItRemembers) {
  plan::VerdictCaches caches;
  caches.put_back("small", memo_of(1));
  caches.put_back("large", memo_of(base::kMaxCachedVerdicts + 1));
  EXPECT_EQ(kept(caches, "small"), 0U);
  EXPECT_EQ(kept(caches, "large"), base::kMaxCachedVerdicts + 1);
  caches.put_back("next", memo_of(1));
  EXPECT_EQ(kept(caches, "large"), 0U) << "now it is too much";
  EXPECT_EQ(kept(caches, "next"), 1U);
  for (std::size_t i = 1; i < base::kMaxVerdictCaches; ++i)
    caches.put_back(std::to_string(i), memo_of(1));
  EXPECT_EQ(kept(caches, "next"), 1U) << "what was forgotten takes no room";
}

TEST(PlanMemosTest, WhatGrewWhileItWasTheCallersCountsAsItIsNow) {
  plan::VerdictCaches caches;
  caches.put_back("other", memo_of(1));
  caches.put_back("a", memo_of(1));
  auto memo = caches.take("a");
  memo->put(base::kMaxCachedVerdicts - 1, kVersion, model::ReasonCode::kNone, 0);
  caches.put_back("a", std::move(memo));
  EXPECT_EQ(kept(caches, "other"), 0U);
  EXPECT_EQ(kept(caches, "a"), base::kMaxCachedVerdicts);
}

TEST(PlanMemoTest, ForgetsWhereWhatIsLearnedIsAnother) {
  plan::VerdictCache cache;
  cache.invalidate_if_demand_changed(5);
  cache.put(2, kVersion, model::ReasonCode::kNone, 9);
  cache.invalidate_if_demand_changed(5);
  ASSERT_NE(cache.find(2, kVersion), nullptr);
  EXPECT_EQ(cache.find(2, kVersion + 1), nullptr);
  EXPECT_EQ(cache.find(1, kVersion), nullptr) << "a slot of which nothing is known";
  EXPECT_EQ(cache.find(1, 0), nullptr);
  EXPECT_EQ(cache.find(3, kVersion), nullptr);
  cache.invalidate_if_demand_changed(6);
  EXPECT_EQ(cache.find(2, kVersion), nullptr);
  cache.invalidate_if_demand_changed(5);
  EXPECT_EQ(cache.find(2, kVersion), nullptr) << "it does not come back";
}

}  // namespace
}  // namespace snug::memos_test
