#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "snug/base/check.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/name_hash.hpp"
#include "snug/base/result.hpp"
#include "snug/base/stable_hash.hpp"
#include "snug/base/units.hpp"

namespace snug::base_test {
namespace {

TEST(LimitsTest, EveryDefaultLiesBetweenItsBounds) {
  for (const base::LimitRow& row : base::limit_rows()) {
    SCOPED_TRACE(row.key);
    EXPECT_LE(row.smallest, row.default_value);
    EXPECT_LE(row.default_value, row.largest);
    EXPECT_GE(row.smallest, 0);
    EXPECT_EQ(base::Limits{}.*row.field, row.default_value);
    EXPECT_FALSE(row.description.empty());
  }
}

TEST(LimitsTest, EveryRowOfTheKeysHasAKeyAndAFieldOfItsOwn) {
  std::set<std::string> keys;
  base::Limits limits;
  std::int64_t next = 0;
  for (const base::LimitRow& row : base::limit_rows()) {
    SCOPED_TRACE(row.key);
    EXPECT_TRUE(keys.emplace(row.key).second);
    for (const char c : row.key) EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) != 0);
    limits.*row.field = ++next;
  }
  next = 0;
  for (const base::LimitRow& row : base::limit_rows())
    EXPECT_EQ(limits.*row.field, ++next) << row.key;
#define SNUG_COUNT(name, value, meaning) +1
  constexpr std::size_t kFixed = SNUG_FIXED_LIMITS(SNUG_COUNT);
#undef SNUG_COUNT
  EXPECT_EQ(sizeof(base::Limits), (base::limit_rows().size() + kFixed) * sizeof(std::int64_t));
}

TEST(LimitsTest, LimitsThatDependOnEachOtherAgree) {
  constexpr base::Limits kLimits;
  for (const base::LimitRow& row : base::limit_rows()) {
    if (row.key == "maxNodes") {
      EXPECT_GE(kLimits.max_names_per_call, row.largest);
    } else if (row.key == "renewDeadlineMs") {
      EXPECT_GE(row.smallest, 2 * kLimits.lease_retry_ms);
    } else if (row.key == "leaseDurationMs") {
      // NTP slews a clock by at most 500 millionths; two clocks may be slewed in opposite
      // directions.
      EXPECT_GE(kLimits.clock_skew_ms, row.largest / 1'000);
    }
  }
}

TEST(UnitsTest, QuantitiesAddSubtractAndCompare) {
  constexpr base::MebiBytes kFour{4};
  constexpr base::MebiBytes kSix{6};
  static_assert(kFour + kSix == base::MebiBytes{10});
  static_assert(kFour - kSix == base::MebiBytes{-2});
  static_assert(kFour < kSix);
  base::MebiBytes sum = kFour;
  sum += kSix;
  EXPECT_EQ(sum, base::MebiBytes{10});
  EXPECT_EQ(base::kWholeGpu.value, 1000);
}

TEST(UnitsTest, GenerationsAndNodesCompareByValue) {
  EXPECT_LT(base::Generation{1}, base::Generation{2});
  EXPECT_EQ(base::NodeIndex{7}, base::NodeIndex{7});
}

TEST(ClockTest, AManualClockMovesOnlyWhenTold) {
  base::ManualClock clock;
  const base::TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.now() - start, std::chrono::milliseconds(1500));
}

TEST(ClockTest, TheSteadyClockNeverGoesBack) {
  const base::SteadyClock clock;
  const base::TimePoint first = clock.now();
  EXPECT_LE(first, clock.now());
}

TEST(NameHashTest, EveryByteOfANameCountsAndNothingBesideIt) {
  for (std::size_t length = 0; length <= 70; ++length) {
    const std::string name(length, 'n');
    const std::string copy = "x" + name + "y";
    EXPECT_EQ(base::name_hash(name), base::name_hash(std::string_view(copy).substr(1, length)));
    std::set<std::uint64_t> hashes = {base::name_hash(name), base::name_hash(name + "n")};
    for (std::size_t at = 0; at < length; ++at) {
      std::string other = name;
      other[at] = 'm';
      hashes.insert(base::name_hash(other));
    }
    EXPECT_EQ(hashes.size(), length + 2) << "of length " << length;
  }
}

/// Tables take the low bits, and tell what meets there apart by the high ones.
TEST(NameHashTest, NumberedNamesSpreadOverATableAsRandomOnesWould) {
  constexpr std::size_t kCells = 1U << 16U;
  std::set<std::uint64_t> low;
  std::set<std::uint64_t> high;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t hash = base::name_hash("gpu-node-" + std::to_string(10'000 + i) + ".local");
    low.insert(hash % kCells);
    high.insert(hash >> 32U);
  }
  // 65,536 × (1 − e^(−20,000 / 65,536)) = 17,234 cells are expected to be met.
  EXPECT_GT(low.size(), 16'900U);
  EXPECT_GT(high.size(), 19'990U);
}

/// From the published vectors of FNV-1a.
TEST(StableHashTest, ItIsTheSameInEveryProcessAndVersion) {
  EXPECT_EQ(base::stable_hash(""), 0xCBF29CE484222325U);
  EXPECT_EQ(base::stable_hash("a"), 0xAF63DC4C8601EC8CU);
  EXPECT_EQ(base::stable_hash("foobar"), 0x85944171F73967E8U);
}

TEST(ResultTest, AFailureCarriesItsCodeAndSentence) {
  const base::Result<int> failed = base::fail(base::ErrorCode::kNotFound, "there is no such thing");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(failed.error().message, "there is no such thing");
}

TEST(CheckDeathTest, ABrokenInvariantSaysWhereAndEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(SNUG_CHECK(1 + 1 == 3), "broken invariant: 1 \\+ 1 == 3 \\(.*base_test.cpp:");
}

TEST(CheckTest, AConditionThatHoldsIsEvaluatedOnceAndPasses) {
  int times = 0;
  SNUG_CHECK(++times == 1);
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace snug::base_test
