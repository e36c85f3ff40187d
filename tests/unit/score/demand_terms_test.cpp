#include "score/demand_terms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "make_demands.hpp"
#include "snug/score/policy.hpp"

namespace snug::demand_terms_test {
namespace {

const model::GpuRequest kRequest = make_fraction(100);
constexpr std::int64_t kPlenty = 1'000'000'000;

struct Take {
  std::uint16_t gpu = 0;
  std::int32_t milli = 0;  // 1000: the whole GPU
};

model::Placement placement_of(const std::vector<Take>& takes) {
  model::Placement placement;
  for (const Take& take : takes) {
    placement.allocations.push_back(
        {.gpu = take.gpu,
         .mode = take.milli == 1000 ? model::GpuMode::kWhole : model::GpuMode::kTimeSlicing,
         .milli = take.milli});
  }
  return placement;
}

/// GPUs 0 and 1 of 1000 MiB with this much taken of the first.
model::NodeStatePtr two(std::int64_t taken, std::int64_t cpu_milli = kPlenty,
                        std::int64_t memory_mib = kPlenty) {
  std::vector<model::HoldingPtr> holdings;
  if (taken > 0) holdings.push_back(make_holding("h", "n1", {make_share(0, taken, taken)}));
  return make_hosting({"n1: A 1000, B 1000", cpu_milli, memory_mib, holdings});
}

struct Row {
  std::string why;
  model::NodeStatePtr node;
  std::vector<Take> takes;
  model::HostResources host;
  double cost = 0;  // milli-GPU
};

void check(std::string_view term, const model::Demand& demand, const std::vector<Row>& rows,
           double near = 0.2) {
  const score::TermRow* row_of_term = score::find_term(term);
  ASSERT_NE(row_of_term, nullptr);
  for (const Row& row : rows) {
    const model::Placement placement = placement_of(row.takes);
    const std::int32_t got =
        row_of_term->function({*row.node, kRequest, placement, row.host, demand});
    EXPECT_NEAR(got, -kPointsOfMilli * row.cost, kPointsOfMilli * near) << term << ": " << row.why;
  }
}

TEST(StrandedGpuTest, CostsTheIdleGpuThatCannotBeFedAnyMore) {
  model::Demand demand;
  demand.cpu = strand_table(4000);
  const model::NodeStatePtr unknown = make_state("n1: A 1000 x2");
  check(
      "stranded-gpu", demand,
      {{"enough for all", two(0, 16'000), {{0, 500}}, host_amounts(2000, 0), 0},
       {"four cores feed one of what is left",
        two(0, 16'000),
        {{0, 500}},
        host_amounts(12'000, 0),
        500},
       {"no core is left", two(0, 16'000), {{0, 500}}, host_amounts(16'000, 0), 1500},
       {"more than there is", two(0, 16'000), {{0, 500}}, host_amounts(99'000, 0), 1500},
       {"a pod that takes what is stranded", two(0, 4000), {{0, 1000}}, {}, -1000},
       {"of a node that holds no such pod even empty",
        two(0, 3000),
        {{0, 500}},
        host_amounts(2000, 0),
        -500},
       {"as much as it takes of both", two(0, 4000), {{0, 500}}, host_amounts(2000, 0), 0},
       {"nothing idle afterwards", two(0, 8000), {{0, 1000}, {1, 1000}}, host_amounts(8000, 0), 0},
       {"units of the kubelet's", two(0, 8000), {}, host_amounts(4000, 0), 1000},
       {"memory is not asked for", two(0, 16'000), {{0, 500}}, host_amounts(0, kPlenty), 0},
       {"the node says nothing", unknown, {{0, 500}}, host_amounts(99'000, 0), 0},
       {"nothing is left",
        make_hosting({"n1: A 1000 unhealthy", 0, 0, {}}),
        {},
        host_amounts(5, 5),
        0}});
}

TEST(StrandedGpuTest, MemoryCountsAsCpuDoes) {
  model::Demand demand;
  demand.memory = strand_table(65'536, 2048);
  const std::int64_t has = 131'072;
  check("stranded-gpu", demand,
        {{"enough", two(0, kPlenty, has), {{0, 500}}, host_amounts(0, 32'768), 0},
         {"a half is left", two(0, kPlenty, has), {{0, 1000}}, host_amounts(0, 98'304), 500},
         {"too little for any such pod",
          two(0, kPlenty, 60'000),
          {{0, 500}},
          host_amounts(0, 30'000),
          -500},
         {"CPU is not asked for", two(0, kPlenty, has), {{0, 500}}, host_amounts(kPlenty, 0), 0}});
  demand.cpu = strand_table(4000);
  check(
      "stranded-gpu", demand,
      {{"CPU alone is short", two(0, 8000, kPlenty), {{0, 1000}}, host_amounts(6000, 0), 500},
       {"memory alone is short", two(0, kPlenty, has), {{0, 1000}}, host_amounts(0, 98'304), 500}});
}

TEST(LeftOverValueTest, CostsWhatCouldHaveBeenSoldBeyondThePodsPrice) {
  model::Demand demand;
  demand.left_over = {left_over_table(250, {1000})};
  check("left-over-value", demand,
        {{"a size that is sold", two(0), {{0, 250}}, {}, 0},
         {"one that spoils a place", two(0), {{0, 300}}, {}, 250},
         {"where it spoils none", two(250), {{0, 200}}, {}, 250},
         {"a small one in a rest", two(800), {{0, 100}}, {}, 0},
         {"the last place", two(700), {{0, 100}}, {}, 250},
         {"two that spoil one place each", two(0), {{0, 300}, {1, 300}}, {}, 500},
         {"two containers on one GPU that fill places", two(0), {{0, 250}, {0, 250}}, {}, 0},
         {"that fill one together", two(750), {{0, 125}, {0, 125}}, {}, 250},
         {"of which the second spoils one", two(0), {{0, 250}, {0, 300}}, {}, 250},
         {"a whole GPU", two(0), {{1, 1000}}, {}, 0},
         {"units", two(0), {}, {}, 0}});
}

TEST(LeftOverValueTest, GoesByTheGpusSize) {
  model::Demand demand;
  demand.left_over = {left_over_table(500, {999}), left_over_table(250, {1000})};
  check("left-over-value", demand, {{"its own", two(0), {{0, 300}}, {}, 250}});
  demand.left_over = {left_over_table(500, {999}), left_over_table(250, {998})};
  check("left-over-value", demand, {{"the usual one", two(0), {{0, 300}}, {}, 500}});
}

TEST(LeftOverSizeTest, CostsWhatAShareLeavesOfItsGpu) {
  check("left-over-size", {},
        {{"an empty GPU", two(0), {{0, 250}}, {}, 750},
         {"a used one", two(600), {{0, 250}}, {}, 150},
         {"exactly what is left", two(600), {{0, 400}}, {}, 0},
         {"two", two(600), {{0, 250}, {1, 250}}, {}, 900},
         {"two containers on one", two(0), {{0, 250}, {0, 350}}, {}, 400},
         {"one that needs no more than another", two(0), {{0, 250}, {0, 0}}, {}, 750},
         {"a whole GPU", two(0), {{1, 1000}}, {}, 0},
         {"units", two(0), {}, {}, 0}});
}

TEST(MultiGpuRoomTest, CostsTheRoomThatIsTaken) {
  model::Demand demand;
  demand.multi_gpu_shapes = {fading({.gpus = 2, .share = model::kFixedPointOne / 2})};
  check("multi-gpu-room", demand,
        {{"a room that was free", two(0), {{0, 250}}, {}, 1000 * (1 - kFadeOfPod)},
         {"one that was not", two(500), {{0, 250}}, {}, 1000 * kFadeOfPod * (1 - kFadeOfPod)},
         {"by a pod that needs one", two(0), {{0, 1000}, {1, 1000}}, {}, 1000 * (1 - kFadeOfPod)},
         {"there never was one", make_hosting({"n1: A 1000", 1, 1, {}}), {{0, 250}}, {}, 0}},
        1);
  demand.multi_gpu_shapes = {
      fading({.gpus = 2, .cpu_milli = 8000, .share = model::kFixedPointOne})};
  check("multi-gpu-room", demand,
        {{"its CPU", two(0, 10'000), {}, host_amounts(4000, 0), 2000 * (1 - kFadeOfPod)},
         {"CPU that it does not need", two(0, 10'000), {}, host_amounts(2000, 0), 0},
         {"too little anyway", two(0, 7000), {}, host_amounts(2000, 0), 0}},
        1);
}

TEST(ModelScarcityTest, CostsTheMilliThatItTakesByTheModelsScarcity) {
  model::Demand demand;
  demand.scarcity[1] = 2 * model::kFixedPointOne;
  demand.scarcity[2] = model::kFixedPointOne / 4;
  const model::NodeStatePtr unnumbered = make_state("n1: A 1000 x2");
  check("model-scarcity", demand,
        {{"a share of a scarce one", two(0), {{0, 250}}, {}, 500},
         {"of one that is not", two(0), {{1, 250}}, {}, 62.5},
         {"whole ones of both", two(0), {{0, 1000}, {1, 1000}}, {}, 2250},
         {"units", two(0), {}, {}, 0},
         {"models beyond those that are counted", unnumbered, {{0, 250}}, {}, 0}});
}

TEST(DemandTermsTest, SayNothingWhereNothingIsKnown) {
  const model::NodeStatePtr plain = make_state("n1: A 1000 x4");
  const model::NodeStatePtr hosting = two(300, 8000, 8000);
  for (const std::string_view name :
       {"stranded-gpu", "left-over-value", "multi-gpu-room", "model-scarcity"}) {
    for (const model::NodeStatePtr& node : {plain, hosting}) {
      for (const std::vector<Take>& takes :
           std::vector<std::vector<Take>>{{{1, 300}}, {{1, 1000}}, {}}) {
        const model::Placement placement = placement_of(takes);
        EXPECT_EQ(
            score::find_term(name)->function({*node, kRequest, placement, host_amounts(500, 500)}),
            0)
            << name;
      }
    }
  }
}

/// Everything at once, and more of it than any cluster asks for.
model::Demand heavy_demand() {
  model::Demand demand;
  demand.churn = model::Demand::kFullChurn;
  demand.cpu = strand_table(64'750);
  demand.memory = strand_table(100, 2048);
  demand.left_over = {left_over_table(501, {0}), left_over_table(1, {16'384})};
  for (std::int64_t gpus = 2; gpus <= 16; ++gpus) {
    demand.multi_gpu_shapes.push_back(
        {.gpus = gpus, .cpu_milli = gpus * 1000, .share = model::kFixedPointOne});
  }
  demand.multi_gpu_shapes.push_back({.gpus = 2,
                                     .cpu_milli = 1'000'000'000,
                                     .memory_mib = 1'000'000'000,
                                     .share = model::kFixedPointOne});
  demand.scarcity.fill(1000 * model::kFixedPointOne);
  demand.typical_pods = {
      {.cpu_milli = 1, .gpus = 1, .gpu_milli = 1, .share = model::kFixedPointOne},
      {.cpu_milli = 1'000'000'000, .gpus = 64, .gpu_milli = 1000, .share = model::kFixedPointOne}};
  return demand;
}

std::vector<model::NodeStatePtr> absurd_nodes() {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const model::HostResources all{.cpu_milli = kMost, .memory_bytes = kMost};
  std::vector<model::NodeStatePtr> nodes;
  for (const std::string_view text :
       {"n1: A 0 x2", "n1: A 1 x3", "n1: A 16384 x64", "n1: A 40960 x4 unhealthy",
        "n1: A 40960, B 16384 x2 unhealthy, A 8796093022208 x5", "n1: A 40960 x2 mig, A 7 x2"}) {
    for (const auto& holdings : std::vector<std::vector<model::HoldingPtr>>{
             {},
             {with_host(make_holding("h", "n1", {make_share(0, 99'999, 2500)}), all)},
             {with_host(make_holding("v", "n1", {make_whole_device(500, 40'960)}), all),
              with_host(make_holding("w", "n1", {make_share(1, 1, 1)}), all)}}) {
      for (const std::int64_t host : {std::int64_t{0}, std::int64_t{8000}, kMost >> 20}) {
        nodes.push_back(make_hosting({std::string(text), host, host, holdings}));
      }
      nodes.push_back(make_state(text, holdings));
    }
  }
  return nodes;
}

TEST(DemandTermsTest, StayWithinTheirBoundsOnAbsurdNodes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const model::Demand demand = heavy_demand();
  int placements = 0;
  for (const model::NodeStatePtr& node : absurd_nodes()) {
    for (const model::GpuRequest& request : {make_fraction(1), make_fraction(999), make_memory(1),
                                             make_whole(1), make_whole(2), make_whole(64)}) {
      for (const model::Placement& option : fit_all(*node, request).options) {
        for (const model::HostResources& host :
             {model::HostResources{}, host_amounts(64'000, 1 << 20),
              model::HostResources{kMost, kMost}}) {
          ++placements;
          for (const score::TermRow& term : score::all_terms()) {
            const std::int32_t got = term.function({*node, request, option, host, demand});
            EXPECT_GE(got, -score::kTermBound) << term.name << " " << describe(*node);
            EXPECT_LE(got, score::kTermBound) << term.name << " " << describe(*node);
          }
        }
      }
    }
  }
  EXPECT_GT(placements, 100);
}

TEST(DemandTermsTest, SharesNeverGainByWhatTheyLeave) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::NodeStatePtr node = draw_hosting(random);
    const model::Placement placement = draw_placement(random, *node);
    model::Demand demand;
    demand.left_over = {left_over_table(random.from_to(1, 999), {1000})};
    demand.scarcity.fill(random.draw(3 * model::kFixedPointOne));
    for (const std::string_view name : {"left-over-value", "left-over-size", "model-scarcity"}) {
      ASSERT_LE(score::find_term(name)->function({*node, kRequest, placement, {}, demand}), 0)
          << name;
    }
  }
}

}  // namespace
}  // namespace snug::demand_terms_test
