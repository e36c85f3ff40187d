#include "plan/tightness.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/node_states.hpp"

namespace snug::tightness_test {
namespace {

/// The GPUs of the placements that the node offers, the tightest first: `1 0 2`.
std::string order(const model::NodeState& node, const model::GpuRequest& request) {
  fit::FitMemo memo(request);
  model::PlacementList options;
  EXPECT_EQ(fit::fit(node, {}, memo, options), model::ReasonCode::kNone);
  std::string text;
  for (const std::size_t i : plan::by_tightness(node, options)) {
    if (!text.empty()) text += ' ';
    for (const model::DeviceAllocation& allocation : options[i].allocations)
      text += std::to_string(allocation.gpu);
  }
  return text;
}

model::HoldingPtr on_gpu(int gpu, int taken) {
  return make_holding("h" + std::to_string(gpu), "n1", {make_share(gpu, taken, taken)});
}

TEST(TightnessTest, SharedGpusComeFirstThenTheFullestThenTheLowest) {
  const model::NodeStatePtr node =
      make_state("n1: A 1000 x4, B 1000", {on_gpu(1, 300), on_gpu(2, 500), on_gpu(3, 300)});
  EXPECT_EQ(order(*node, make_fraction(400)), "2 1 3 0 4");
  EXPECT_EQ(order(*node, make_whole(1)), "0 4");
  model::GpuRequest two = make_fraction(400);
  two.containers.front().count = 2;
  EXPECT_EQ(order(*node, two).substr(0, 8), "12 23 13");
}

TEST(TightnessTest, ThePlacementsSizeIsWhatItTakesOfMemoryAndCompute) {
  const model::NodeStatePtr node = make_state("n1: A 1000 x2");
  const model::GpuRequest request = make_whole(2);
  fit::FitMemo memo(request);
  model::PlacementList options;
  ASSERT_EQ(fit::fit(*node, {}, memo, options), model::ReasonCode::kNone);
  EXPECT_EQ(plan::placement_size(options[0]), 4000);
}

}  // namespace
}  // namespace snug::tightness_test
