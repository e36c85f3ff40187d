#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/sim/trace.hpp"

namespace snug::draw_arrivals_test {
namespace {

std::vector<sim::TracePod> pods_of(const std::vector<int>& millis) {
  std::vector<sim::TracePod> pods;
  for (const int milli : millis) {
    pods.push_back({.name = "p" + std::to_string(pods.size()),
                    .gpus = milli > 0 ? std::max(1, milli / 1000) : 0,
                    .gpu_milli = std::min(milli, 1000)});
  }
  return pods;
}

std::vector<std::size_t> drawn(const std::vector<sim::TracePod>& pods, std::int64_t gpus,
                               std::uint64_t seed, double inflate) {
  std::vector<std::size_t> rows;
  for (const sim::Arrival& arrival : sim::draw_arrivals(pods, gpus, seed, inflate)) {
    EXPECT_FALSE(arrival.lifetime.has_value());
    rows.push_back(arrival.pod);
  }
  return rows;
}

std::vector<std::size_t> sorted_front(std::vector<std::size_t> rows, std::size_t count) {
  rows.resize(count);
  std::ranges::sort(rows);
  return rows;
}

std::vector<std::size_t> up_to(std::size_t count) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(i);
  return rows;
}

TEST(DrawArrivalsTest, AllPodsComeOnceThenSomeUntilTheDemandIsReached) {
  const auto pods = pods_of({0, 100, 250, 500, 1000, 2000, 8000, 0, 30});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto rows = drawn(pods, 20, seed, 1.3);
    ASSERT_GT(rows.size(), pods.size());
    EXPECT_EQ(sorted_front(rows, pods.size()), up_to(pods.size()));
    std::int64_t arrived = 0;
    for (const std::size_t row : rows) arrived += pods[row].milli();
    EXPECT_GE(arrived, 26'000);
    EXPECT_LT(arrived - pods[rows.back()].milli(), 26'000) << "it goes on when there is enough";
  }
}

TEST(DrawArrivalsTest, OneSeedMeansTheSameEverywhere) {
  const auto pods = pods_of({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  EXPECT_EQ(drawn(pods, 10, 42, 1.3), drawn(pods, 10, 42, 1.3));
  EXPECT_NE(drawn(pods, 10, 42, 1.3), drawn(pods, 10, 43, 1.3));
  EXPECT_EQ(drawn(pods, 10, 42, 1.3),
            (std::vector<std::size_t>{7, 0, 5, 1, 2, 4, 3, 6, 0, 6, 1, 3, 6}));
}

TEST(DrawArrivalsTest, EveryOrderIsAsLikely) {
  const auto pods = pods_of({1, 1, 1});
  std::vector<int> counts(27, 0);
  constexpr int kSeeds = 6000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto rows = drawn(pods, 0, seed, 1);
    ++counts[rows[0] * 9 + rows[1] * 3 + rows[2]];
  }
  EXPECT_EQ(std::ranges::count_if(counts, [](int count) { return count > 0; }), 6);
  for (const int count : counts) {
    if (count == 0) continue;
    EXPECT_NEAR(count, kSeeds / 6, 150);  // five deviations
  }
}

struct Once {
  std::vector<int> millis;
  std::int64_t gpus = 0;
  double inflate = 0;
};

class OnceTest : public testing::TestWithParam<Once> {};

TEST_P(OnceTest, AllPodsOnceAreEnough) {
  const auto pods = pods_of(GetParam().millis);
  const auto rows = drawn(pods, GetParam().gpus, 7, GetParam().inflate);
  EXPECT_EQ(rows.size(), pods.size());
  EXPECT_EQ(sorted_front(rows, pods.size()), up_to(pods.size()));
}

INSTANTIATE_TEST_SUITE_P(Rows, OnceTest,
                         testing::Values(Once{{}, 10, 1.3},                   // nobody
                                         Once{{0, 0, 0}, 10, 1.3},            // asks for a GPU
                                         Once{{1000, 1000}, 0, 1.3},          // no GPU
                                         Once{{1000, 500, 800}, 2, 1.15},     // exactly enough
                                         Once{{1000, 1000, 1000}, 2, 0.1}));  // more than enough

TEST(DrawArrivalsTest, TheirNumberHasALimit) {
  EXPECT_EQ(sim::draw_arrivals(pods_of({1}), 1'000'000, 1, 100).size(), base::kMaxTraceArrivals);
}

}  // namespace
}  // namespace snug::draw_arrivals_test
