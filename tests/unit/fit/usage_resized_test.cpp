// What holders of a GPU count for when its reported memory changes under them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/fit/node_usage.hpp"
#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug::usage_resized_test {
namespace {

/// Of pods that asked for this, on a GPU of so many MiB then and now.
struct Resized {
  std::string_view why;
  std::int64_t then = 0;
  std::int64_t now = 0;
  std::vector<model::DeviceRequest> asks;
  std::int64_t used = 0;  // MiB
  model::GpuClosure closure = model::GpuClosure::kOpen;
  std::optional<int> percent;  // gpu-compute of each
};

model::NodeStatePtr resized(const Resized& row) {
  std::vector<model::HoldingPtr> holdings;
  for (const model::DeviceRequest& ask : row.asks) {
    model::ContainerRequest asked{.device = ask};
    asked.compute_percent = row.percent;
    const fit::Charge cost = fit::charge(asked, {row.then});
    const bool whole = std::holds_alternative<model::WholeGpuRequest>(ask);
    const model::ReservedDevice device = whole
                                             ? make_whole_device(0, cost.memory.value)
                                             : make_share(0, cost.memory.value, cost.compute.value);
    auto holding = make_holding("p" + std::to_string(holdings.size()), "n1", {device});
    holding->container_requests = {asked};
    holdings.push_back(std::move(holding));
  }
  return make_state("n1: A100 " + std::to_string(row.now), holdings);
}

constexpr auto kOpen = model::GpuClosure::kOpen;
constexpr auto kOver = model::GpuClosure::kOverCommitted;

void expect_rows(const std::vector<Resized>& rows) {
  for (const Resized& row : rows) {
    SCOPED_TRACE(row.why);
    const model::NodeStatePtr node = resized(row);
    EXPECT_EQ(node->gpus[0].used_memory, base::MebiBytes{row.used});
    EXPECT_EQ(node->gpus[0].closure, row.closure);
    EXPECT_GE(node->gpus[0].free_milli_sum, 0);
    EXPECT_GE(node->gpus[0].free_milli, 0);
  }
}

TEST(ResizedGpuTest, SharesByFractionFollowTheSizeOfTheirGpu) {
  const std::vector<model::DeviceRequest> quarters(4, model::FractionRequest{250});
  const std::vector<model::DeviceRequest> thirds(3, model::FractionRequest{333});
  expect_rows({
      {"another driver", 81920, 81559, quarters, 81556, kOpen, {}},
      {"an odd size", 81920, 81919, quarters, 81916, kOpen, {}},
      {"and back", 81559, 81920, quarters, 81920, kOpen, {}},
      {"thirds", 81920, 81559, thirds, 81477, kOpen, {}},
      {"a whole GPU", 81920, 81559, {model::WholeGpuRequest{}}, 81559, kOpen, {}},
      {"whole and grown", 81559, 81920, {model::WholeGpuRequest{}}, 81920, kOpen, {}},
  });
}

TEST(ResizedGpuTest, WhatWasAskedInMebibytesStaysAndClosesWhatItNoLongerFitsByMoreThanRounding) {
  const model::DeviceRequest quarter = model::FractionRequest{250};
  expect_rows({{"by memory alone it does not shrink",
                81920,
                81559,
                {model::MemoryRequest{{40960}}, model::MemoryRequest{{40960}}},
                81920,
                kOver,
                {}},
               {"what was asked in MiB stays",
                81920,
                81559,
                {model::FractionRequest{500}, model::MemoryRequest{{40960}}},
                81739,
                kOver,
                {}},
               {"and is no trouble where there was room",
                81920,
                81559,
                {model::FractionRequest{500}, model::MemoryRequest{{40000}}},
                80779,
                kOpen,
                {}},
               {"one share of each kind, 1 MiB too much",
                81920,
                81918,
                {model::FractionRequest{500}, model::MemoryRequest{{40960}}},
                81919,
                kOver,
                {}},
               // 4 x 20479 + 3 = 81919 before; each quarter has 1 MiB more after.
               {"rounding in a GPU that grows",
                81919,
                81920,
                {quarter, quarter, quarter, quarter, model::MemoryRequest{{3}}},
                81923,
                kOpen,
                20},
               {"more than rounding",
                81919,
                81920,
                {quarter, quarter, quarter, quarter, model::MemoryRequest{{4}}},
                81924,
                kOver,
                20},
               {"tiny shares",
                2000,
                1999,
                std::vector<model::DeviceRequest>(3, model::FractionRequest{1}),
                3,
                kOpen,
                {}}});
}

TEST(ResizedGpuTest, WhateverTheSizeFractionsThatFittedStillDo) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 3'000; ++i) {
    Resized row{.why = "drawn", .then = random.from_to(2'000, 91'999)};
    const std::int64_t ninth = row.then / 9;
    row.now = row.then - ninth + random.draw(2 * ninth);
    for (int left = 1000; left > 0;) {
      const int thousandths = std::min(left, static_cast<int>(random.from_to(1, 500)));
      row.asks.emplace_back(model::FractionRequest{thousandths});
      left -= thousandths;
    }
    const model::NodeStatePtr node = resized(row);
    ASSERT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen) << row.then << " to " << row.now;
    ASSERT_LE(node->gpus[0].used_memory.value, row.now);
    ASSERT_EQ(node->gpus[0].used_compute, base::kWholeGpu);
  }
}

}  // namespace
}  // namespace snug::usage_resized_test
