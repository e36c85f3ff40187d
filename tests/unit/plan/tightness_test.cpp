#include "plan/tightness.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/states.hpp"

namespace snug::tightness_test {
namespace {

/// The GPUs of the placements that the node offers, the tightest first: `1 0 2`.
std::string order(const NodeState& node, const GpuRequest& request) {
  FitMemo memo(request);
  PlacementList options;
  EXPECT_EQ(fit(node, {}, memo, options), ReasonCode::kNone);
  std::string text;
  for (const std::size_t i : by_tightness(node, options)) {
    if (!text.empty()) text += ' ';
    for (const DeviceTake& take : options[i].takes) text += std::to_string(take.gpu);
  }
  return text;
}

HoldingPtr on_gpu(int gpu, int taken) {
  return make_holding("h" + std::to_string(gpu), "n1", {make_share(gpu, taken, taken)});
}

TEST(TightnessTest, SharedGpusComeFirstThenTheFullestThenTheLowest) {
  const NodeStatePtr node =
      make_state("n1: A 1000 x4, B 1000", {on_gpu(1, 300), on_gpu(2, 500), on_gpu(3, 300)});
  EXPECT_EQ(order(*node, make_fraction(400)), "2 1 3 0 4");
  EXPECT_EQ(order(*node, make_whole(1)), "0 4");
  GpuRequest two = make_fraction(400);
  two.containers.front().count = 2;
  EXPECT_EQ(order(*node, two).substr(0, 8), "12 23 13");
}

TEST(TightnessTest, ThePlacementsSizeIsWhatItTakesOfMemoryAndCompute) {
  const NodeStatePtr node = make_state("n1: A 1000 x2");
  const GpuRequest request = make_whole(2);
  FitMemo memo(request);
  PlacementList options;
  ASSERT_EQ(fit(*node, {}, memo, options), ReasonCode::kNone);
  EXPECT_EQ(size_of(options[0]), 4000);
}

}  // namespace
}  // namespace snug::tightness_test
