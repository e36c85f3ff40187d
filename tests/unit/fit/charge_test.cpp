#include "snug/fit/charge.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "fit/plausible.hpp"
#include "support/test_objects.hpp"

namespace snug::charge_test {
namespace {

struct Row {
  model::DeviceRequest ask;
  std::int64_t capacity;
  std::int64_t memory;
  std::int64_t compute;
};

TEST(ChargeTest, TheArithmeticOfTheContract) {
  const std::vector<Row> rows = {{model::FractionRequest{333}, 40960, 13639, 333},
                                 {model::MemoryRequest{{3815}}, 40960, 3815, 93},
                                 {model::FractionRequest{250}, 81920, 20480, 250},
                                 {model::FractionRequest{500}, 40960, 20480, 500},
                                 {model::FractionRequest{999}, 40960, 40919, 999},
                                 {model::FractionRequest{1}, 40960, 40, 1},
                                 {model::MemoryRequest{{40960}}, 40960, 40960, 1000},
                                 {model::MemoryRequest{{20480}}, 40960, 20480, 500},
                                 {model::MemoryRequest{{40959}}, 40960, 40959, 999},
                                 {model::MemoryRequest{{1}}, 40960, 1, 1},
                                 {model::MemoryRequest{{3815}}, 16384, 3815, 232},
                                 {model::MemoryRequest{{3815}}, 81920, 3815, 46},
                                 {model::WholeGpuRequest{}, 40960, 40960, 1000}};
  for (const Row& row : rows) {
    EXPECT_EQ(fit::charge({.device = row.ask}, {row.capacity}),
              (fit::Charge{{row.memory}, {row.compute}}))
        << row.ask.index() << " of " << row.capacity;
  }
}

TEST(ChargeTest, NothingIsFreeOnATinyGpu) {
  const std::vector<Row> rows = {
      {model::FractionRequest{1}, 1, 1, 1},     {model::FractionRequest{999}, 1, 1, 999},
      {model::FractionRequest{1}, 999, 1, 1},   {model::FractionRequest{1}, 1000, 1, 1},
      {model::FractionRequest{999}, 2, 1, 999}, {model::FractionRequest{500}, 3, 1, 500},
      {model::MemoryRequest{{1}}, 1, 1, 1000},  {model::MemoryRequest{{1}}, 1000, 1, 1},
      {model::MemoryRequest{{1}}, 1001, 1, 1},  {model::MemoryRequest{{1}}, 1999, 1, 1},
      {model::MemoryRequest{{2}}, 1001, 2, 1},  {model::MemoryRequest{{1}}, 3, 1, 333},
      {model::FractionRequest{1}, 2000, 2, 1}};
  for (const Row& row : rows) {
    EXPECT_EQ(fit::charge({.device = row.ask}, {row.capacity}),
              (fit::Charge{{row.memory}, {row.compute}}))
        << row.ask.index() << " of " << row.capacity;
  }
}

TEST(ChargeTest, AnAskBeyondTheGpuExceedsItsCapacityEvenWhenAbsurd) {
  EXPECT_EQ(fit::charge({.device = model::MemoryRequest{{40961}}}, {40960}),
            (fit::Charge{{40961}, {1000}}));
  const std::int64_t most = std::int64_t{1} << 43;  // what request/ lets through
  EXPECT_EQ(fit::charge({.device = model::MemoryRequest{{most}}}, {1}),
            (fit::Charge{{most}, {1000 * most}}));
}

TEST(ChargeTest, WhatNamesNoSingleGpusShareCostsNothing) {
  EXPECT_EQ(fit::charge({.device = model::SliceRequest{"1g.5gb"}}, {40960}), fit::Charge{});
  EXPECT_EQ(fit::charge({.device = model::KubeletRequest{"nvidia.com/gpu"}}, {40960}),
            fit::Charge{});
}

TEST(PlausibleTest, WhatFollowsFromTheSizeMayBeAnEighthOffAndNothingElse) {
  struct Stated {
    std::string_view why;
    model::DeviceRequest ask;
    std::int64_t memory;
    std::int64_t compute;
    bool plausible;
  };
  const std::vector<Stated> rows = {
      {"exact", model::FractionRequest{500}, 20480, 500, true},
      {"the GPU had a few MiB less", model::FractionRequest{500}, 20475, 500, true},
      {"an eighth less", model::FractionRequest{500}, 17920, 500, true},
      {"more than an eighth less", model::FractionRequest{500}, 17919, 500, false},
      {"an eighth more", model::FractionRequest{500}, 23040, 500, true},
      {"more than an eighth more", model::FractionRequest{500}, 23041, 500, false},
      {"forged memory", model::FractionRequest{500}, 1, 500, false},
      {"a fraction fixes compute", model::FractionRequest{500}, 20480, 499, false},
      {"a fraction fixes compute upwards", model::FractionRequest{500}, 20480, 501, false},
      {"memory, exact", model::MemoryRequest{{20480}}, 20480, 500, true},
      {"the GPU was larger", model::MemoryRequest{{20480}}, 20480, 444, true},
      {"the GPU was far larger", model::MemoryRequest{{20480}}, 20480, 443, false},
      {"the GPU was smaller", model::MemoryRequest{{20480}}, 20480, 571, true},
      {"the GPU was far smaller", model::MemoryRequest{{20480}}, 20480, 572, false},
      {"forged compute", model::MemoryRequest{{20480}}, 20480, 1, false},
      {"a memory request fixes memory", model::MemoryRequest{{20480}}, 20479, 500, false},
      {"whole", model::WholeGpuRequest{}, 40960, 1000, true},
      {"whole, drifted", model::WholeGpuRequest{}, 40950, 1000, true},
      {"whole, half a GPU", model::WholeGpuRequest{}, 20480, 1000, false},
      {"whole, half its compute", model::WholeGpuRequest{}, 40960, 500, false},
      {"a device under a request to the kubelet", model::KubeletRequest{"nvidia.com/gpu"}, 1, 1,
       false}};
  for (const Stated& row : rows) {
    EXPECT_EQ(fit::plausible({.device = row.ask}, {{row.memory}, {row.compute}}, {40960}),
              row.plausible)
        << row.why;
  }
}

TEST(PlausibleTest, ATinyGpuHasNoEighth) {
  EXPECT_TRUE(fit::plausible({.device = model::FractionRequest{500}}, {{3}, {500}}, {7}));
  EXPECT_FALSE(fit::plausible({.device = model::FractionRequest{500}}, {{4}, {500}}, {7}));
}

TEST(ChargeTest, RoomAddsThousandthsOfMemoryAndCompute) {
  EXPECT_EQ((fit::Charge{{40960}, {1000}}).milli_sum({40960}), 2000);
  EXPECT_EQ((fit::Charge{{20480}, {250}}).milli_sum({40960}), 750);
  EXPECT_EQ((fit::Charge{{1}, {1}}).milli_sum({40960}), 1);
}

}  // namespace
}  // namespace snug::charge_test
