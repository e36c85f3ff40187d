#include "snug/score/fragmentation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "make_demands.hpp"

namespace snug::fragmentation_test {
namespace {

constexpr std::int64_t kPlenty = 1'000'000'000;

std::vector<model::TypicalPod> draw_typical(Random& random) {
  std::vector<model::TypicalPod> pods;
  const std::int64_t kinds = random.from_to(1, 10);
  for (std::int64_t i = 0; i < kinds; ++i) {
    const std::int64_t gpus = random.pick<std::int64_t>({0, 1, 1, 1, 2, 4, 8});
    pods.push_back(
        {.cpu_milli = random.one_in(3) ? 0 : random.draw(80'000),
         .gpus = gpus,
         .gpu_milli = gpus == 0  ? 0
                      : gpus > 1 ? 1000
                                 : random.from_to(1, 1000),
         .models = random.pick<model::ModelSet>({model::kAnyModel, model::kAnyModel, 2, 4, 0}),
         .share = random.draw(model::kFixedPointOne / 5)});
  }
  return pods;
}

/// The definition, word by word, in parts of kOne.
std::int64_t naive_fragment(const model::NodeState& node,
                            const std::vector<model::TypicalPod>& typical) {
  const model::HostAllocatable& host = node.inventory->host;
  const std::int64_t cpu = host.resources.cpu_milli - node.host_used.cpu_milli;
  std::int64_t sum = 0;
  for (const model::TypicalPod& pod : typical) {
    std::int64_t can_have = 0;
    for (const model::GpuState& gpu : node.gpus) {
      const bool may = (pod.models >> gpu.info->model_id & 1) != 0;
      if (may && gpu.free_milli >= pod.gpu_milli) ++can_have;
    }
    const bool cannot = pod.gpus == 0 || can_have < pod.gpus || (host.known && cpu < pod.cpu_milli);
    for (const model::GpuState& gpu : node.gpus) {
      const bool may = (pod.models >> gpu.info->model_id & 1) != 0;
      if (cannot || !may || gpu.free_milli < pod.gpu_milli) sum += pod.share * gpu.free_milli;
    }
  }
  return sum;
}

TEST(FragmentationTest, OfRandomNodesIsWhatTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::NodeStatePtr node = draw_hosting(random);
    const std::vector<model::TypicalPod> typical = draw_typical(random);
    ASSERT_EQ(score::fragmentation(score::fragmentation_view(*node), typical),
              naive_fragment(*node, typical))
        << describe(*node);
  }
}

TEST(FragmentationTest, ByHand) {
  const model::NodeStatePtr node =
      make_hosting({"n1: A 1000, A 1000, B 1000",
                    8000,
                    8000,
                    {make_holding("h", "n1", {make_share(0, 600, 600)})}});
  struct Row {
    std::string why;
    model::TypicalPod pod;
    std::int64_t milli;
  };
  for (const Row& row :
       std::vector<Row>{{"asks for no GPU", {.cpu_milli = 1}, 2400},
                        {"fits on every one", {.gpus = 1, .gpu_milli = 400}, 0},
                        {"the first has too little", {.gpus = 1, .gpu_milli = 401}, 400},
                        {"two whole ones", {.gpus = 2, .gpu_milli = 1000}, 400},
                        {"three whole ones", {.gpus = 3, .gpu_milli = 1000}, 2400},
                        {"three shares", {.gpus = 3, .gpu_milli = 400}, 0},
                        {"just enough CPU", {.cpu_milli = 8000, .gpus = 1, .gpu_milli = 1}, 0},
                        {"too little CPU", {.cpu_milli = 8001, .gpus = 1, .gpu_milli = 1}, 2400},
                        {"another model", {.gpus = 1, .gpu_milli = 1, .models = 0b1000}, 2400},
                        {"one model of two", {.gpus = 1, .gpu_milli = 1, .models = 0b100}, 1400}}) {
    model::TypicalPod pod = row.pod;
    pod.share = model::kFixedPointOne / 2;
    EXPECT_EQ(score::fragmentation(score::fragmentation_view(*node), std::vector{pod}),
              row.milli * model::kFixedPointOne / 2)
        << row.why;
  }
  EXPECT_EQ(score::fragmentation(score::fragmentation_view(*node), {}), 0);
}

/// FGD's score of a decrease of so many GPUs, times 1000.
double fgd_of(double gpus) { return 1000 * std::floor(100 / (1 + std::exp(-gpus))); }

void expect_fgd(const score::TermInput& input, double gain) {
  constexpr double kRounding = 1e-5;  // GPUs
  const double got = score::find_term("fgd")->function(input);
  EXPECT_GE(got, fgd_of(gain - kRounding)) << gain;
  EXPECT_LE(got, fgd_of(gain + kRounding)) << gain;
}

TEST(FgdTest, IsTheSigmoidOfTheFragmentsDecreaseOnRandomNodes) {
  int placements = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::NodeStatePtr node = draw_hosting(random);
    model::Demand demand;
    demand.typical_pods = draw_typical(random);
    const model::Placement placement = draw_placement(random, *node);
    if (placement.allocations.empty()) continue;
    ++placements;
    const model::HostResources host = host_amounts(random.draw(20'000), 0);
    const model::NodeStatePtr after = placed_on(*node, placement, host);
    const double gain = static_cast<double>(naive_fragment(*node, demand.typical_pods) -
                                            naive_fragment(*after, demand.typical_pods)) /
                        model::kFixedPointOne / 1000;
    expect_fgd({*node, make_fraction(1), placement, host, demand}, gain);
  }
  EXPECT_GT(placements, 800);
}

/// Every step of the table, from the least decrease to the most.
TEST(FgdTest, HasTheSigmoidsSteps) {
  model::Demand useless;  // all that is idle is fragment, so that a pod takes some away
  useless.typical_pods = {{.cpu_milli = 1, .share = model::kFixedPointOne}};
  for (std::int64_t gpus = 1; gpus <= 8; ++gpus) {
    const model::NodeStatePtr node =
        make_hosting({"n1: A 1000 x" + std::to_string(gpus), kPlenty, kPlenty, {}});
    model::Demand all;  // all GPUs of the node are needed at once, so that a share spoils the rest
    all.typical_pods = {{.gpus = gpus, .gpu_milli = 1000, .share = model::kFixedPointOne}};
    for (std::int32_t milli = 1; milli < 1000; milli += 7) {
      model::Placement share{{{.gpu = 0, .mode = model::GpuMode::kTimeSlicing, .milli = milli}}};
      expect_fgd({*node, make_fraction(1), share, {}, all},
                 -static_cast<double>(1000 * gpus - milli) / 1000);
      for (std::uint16_t gpu = 1; gpu < gpus; ++gpu) {
        share.allocations.push_back({.gpu = gpu, .mode = model::GpuMode::kWhole, .milli = 1000});
      }
      expect_fgd({*node, make_fraction(1), share, {}, useless},
                 static_cast<double>(1000 * (gpus - 1) + milli) / 1000);
    }
  }
}

TEST(FgdTest, TheLeastLossCountsAsOne) {
  const model::NodeStatePtr node = make_hosting({"n1: A 1000", kPlenty, kPlenty, {}});
  model::Demand demand;
  demand.typical_pods = {{.gpus = 1, .gpu_milli = 1000, .share = 1}};
  const model::Placement least{{{.gpu = 0, .mode = model::GpuMode::kTimeSlicing, .milli = 1}}};
  EXPECT_EQ(score::find_term("fgd")->function({*node, make_fraction(1), least, {}, demand}),
            49'000);
  const model::Placement all{{{.gpu = 0, .mode = model::GpuMode::kWhole, .milli = 1000}}};
  EXPECT_EQ(score::find_term("fgd")->function({*node, make_fraction(1), all, {}, demand}), 50'000);
}

TEST(FgdTest, WhereNoPodIsTypicalAllNodesAreAlike) {
  const model::Placement share{{{.gpu = 0, .mode = model::GpuMode::kTimeSlicing, .milli = 300}}};
  const model::Placement none;
  const model::GpuRequest request = make_fraction(300);
  const std::int32_t usual =
      score::find_term("fgd")->function({*make_state("n1: A 1000"), request, share});
  for (const std::string_view text : {"n1: A 1000 x8", "n1: A 40960, B 7"}) {
    EXPECT_EQ(score::find_term("fgd")->function({*make_state(text), request, share}), usual);
    EXPECT_EQ(score::find_term("fgd")->function({*make_state(text), request, none}), usual);
  }
}

}  // namespace
}  // namespace snug::fragmentation_test
