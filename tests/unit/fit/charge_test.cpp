#include "snug/fit/charge.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "fit/plausible.hpp"
#include "support/cluster.hpp"

namespace snug::charge_test {
namespace {

struct Row {
  Ask ask;
  std::int64_t capacity;
  std::int64_t memory;
  std::int64_t compute;
};

TEST(ChargeTest, TheArithmeticOfTheContract) {
  const std::vector<Row> rows = {
      {FractionAsk{333}, 40960, 13639, 333},    {MemoryAsk{{3815}}, 40960, 3815, 93},
      {FractionAsk{250}, 81920, 20480, 250},    {FractionAsk{500}, 40960, 20480, 500},
      {FractionAsk{999}, 40960, 40919, 999},    {FractionAsk{1}, 40960, 40, 1},
      {MemoryAsk{{40960}}, 40960, 40960, 1000}, {MemoryAsk{{20480}}, 40960, 20480, 500},
      {MemoryAsk{{40959}}, 40960, 40959, 999},  {MemoryAsk{{1}}, 40960, 1, 1},
      {MemoryAsk{{3815}}, 16384, 3815, 232},    {MemoryAsk{{3815}}, 81920, 3815, 46},
      {WholeAsk{}, 40960, 40960, 1000}};
  for (const Row& row : rows) {
    EXPECT_EQ(charge({.ask = row.ask}, {row.capacity}), (Charge{{row.memory}, {row.compute}}))
        << row.ask.index() << " of " << row.capacity;
  }
}

TEST(ChargeTest, NothingIsFreeOnATinyGpu) {
  const std::vector<Row> rows = {
      {FractionAsk{1}, 1, 1, 1},    {FractionAsk{999}, 1, 1, 999}, {FractionAsk{1}, 999, 1, 1},
      {FractionAsk{1}, 1000, 1, 1}, {FractionAsk{999}, 2, 1, 999}, {FractionAsk{500}, 3, 1, 500},
      {MemoryAsk{{1}}, 1, 1, 1000}, {MemoryAsk{{1}}, 1000, 1, 1},  {MemoryAsk{{1}}, 1001, 1, 1},
      {MemoryAsk{{1}}, 1999, 1, 1}, {MemoryAsk{{2}}, 1001, 2, 1},  {MemoryAsk{{1}}, 3, 1, 333},
      {FractionAsk{1}, 2000, 2, 1}};
  for (const Row& row : rows) {
    EXPECT_EQ(charge({.ask = row.ask}, {row.capacity}), (Charge{{row.memory}, {row.compute}}))
        << row.ask.index() << " of " << row.capacity;
  }
}

TEST(ChargeTest, AnAskBeyondTheGpuExceedsItsCapacityEvenWhenAbsurd) {
  EXPECT_EQ(charge({.ask = MemoryAsk{{40961}}}, {40960}), (Charge{{40961}, {1000}}));
  const std::int64_t most = std::int64_t{1} << 43;  // what request/ lets through
  EXPECT_EQ(charge({.ask = MemoryAsk{{most}}}, {1}), (Charge{{most}, {1000 * most}}));
}

TEST(ChargeTest, WhatNamesNoSingleGpusShareCostsNothing) {
  EXPECT_EQ(charge({.ask = SliceAsk{"1g.5gb"}}, {40960}), Charge{});
  EXPECT_EQ(charge({.ask = KubeletAsk{"nvidia.com/gpu"}}, {40960}), Charge{});
}

TEST(PlausibleTest, WhatFollowsFromTheSizeMayBeAnEighthOffAndNothingElse) {
  struct Stated {
    std::string_view why;
    Ask ask;
    std::int64_t memory;
    std::int64_t compute;
    bool plausible;
  };
  const std::vector<Stated> rows = {
      {"exact", FractionAsk{500}, 20480, 500, true},
      {"the GPU had a few MiB less", FractionAsk{500}, 20475, 500, true},
      {"an eighth less", FractionAsk{500}, 17920, 500, true},
      {"more than an eighth less", FractionAsk{500}, 17919, 500, false},
      {"an eighth more", FractionAsk{500}, 23040, 500, true},
      {"more than an eighth more", FractionAsk{500}, 23041, 500, false},
      {"forged memory", FractionAsk{500}, 1, 500, false},
      {"a fraction fixes compute", FractionAsk{500}, 20480, 499, false},
      {"a fraction fixes compute upwards", FractionAsk{500}, 20480, 501, false},
      {"memory, exact", MemoryAsk{{20480}}, 20480, 500, true},
      {"the GPU was larger", MemoryAsk{{20480}}, 20480, 444, true},
      {"the GPU was far larger", MemoryAsk{{20480}}, 20480, 443, false},
      {"the GPU was smaller", MemoryAsk{{20480}}, 20480, 571, true},
      {"the GPU was far smaller", MemoryAsk{{20480}}, 20480, 572, false},
      {"forged compute", MemoryAsk{{20480}}, 20480, 1, false},
      {"a memory request fixes memory", MemoryAsk{{20480}}, 20479, 500, false},
      {"whole", WholeAsk{}, 40960, 1000, true},
      {"whole, drifted", WholeAsk{}, 40950, 1000, true},
      {"whole, half a GPU", WholeAsk{}, 20480, 1000, false},
      {"whole, half its compute", WholeAsk{}, 40960, 500, false},
      {"a device under a request to the kubelet", KubeletAsk{"nvidia.com/gpu"}, 1, 1, false}};
  for (const Stated& row : rows) {
    EXPECT_EQ(plausible({.ask = row.ask}, {{row.memory}, {row.compute}}, {40960}), row.plausible)
        << row.why;
  }
}

TEST(PlausibleTest, ATinyGpuHasNoEighth) {
  EXPECT_TRUE(plausible({.ask = FractionAsk{500}}, {{3}, {500}}, {7}));
  EXPECT_FALSE(plausible({.ask = FractionAsk{500}}, {{4}, {500}}, {7}));
}

TEST(ChargeTest, RoomAddsThousandthsOfMemoryAndCompute) {
  EXPECT_EQ((Charge{{40960}, {1000}}).room({40960}), 2000);
  EXPECT_EQ((Charge{{20480}, {250}}).room({40960}), 750);
  EXPECT_EQ((Charge{{1}, {1}}).room({40960}), 1);
}

}  // namespace
}  // namespace snug::charge_test
