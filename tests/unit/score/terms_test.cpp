#include "snug/score/terms.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/score/policy.hpp"
#include "support/node_states.hpp"

namespace snug::terms_test {
namespace {

/// The term's value for the option that starts at GPU `gpu`.
std::int32_t value(std::string_view term, const model::NodeState& node,
                   const model::GpuRequest& request, std::uint16_t gpu = 0) {
  const FitResult fitted = fit_all(node, request);
  EXPECT_EQ(fitted.reason, model::ReasonCode::kNone);
  for (const model::Placement& option : fitted.options) {
    if (!option.allocations.empty() && option.allocations.front().gpu != gpu) continue;
    return score::find_term(term)->function({node, request, option});
  }
  ADD_FAILURE() << "no option at GPU " << gpu;
  return -1;
}

model::HoldingPtr held(int gpu, std::int64_t memory, std::int64_t compute) {
  return make_holding("h" + std::to_string(gpu), "n1", {make_share(gpu, memory, compute)});
}

/// One situation: a node, what is on it, what is asked, and at which GPU.
struct Situation {
  std::string_view node;
  std::vector<model::HoldingPtr> holdings;
  model::GpuRequest request;
  std::uint16_t gpu = 0;

  [[nodiscard]] std::int32_t by(std::string_view term) const {
    return value(term, *make_state(node, holdings), request, gpu);
  }
};

struct Row {
  std::string_view why;
  Situation better;
  Situation worse;
};

constexpr std::string_view kTwo = "n1: A 40960 x2";

TEST(BestFitTest, Prefers) {
  const std::vector<model::HoldingPtr> half = {held(0, 20480, 500)};
  const std::vector<Row> rows = {
      {"the fuller GPU of a node",
       {kTwo, half, make_fraction(250), 0},
       {kTwo, half, make_fraction(250), 1}},
      {"the smaller GPU that holds it",
       {"n1: T 16384, A 81920", {}, make_memory(8192), 0},
       {"n1: T 16384, A 81920", {}, make_memory(8192), 1}},
      {"the GPU that becomes full",
       {kTwo, half, make_fraction(500), 0},
       {kTwo, {held(0, 4096, 100)}, make_fraction(500), 0}},
      {"a fuller node among equal GPUs",
       {kTwo, {held(1, 20480, 500)}, make_fraction(250), 0},
       {kTwo, {}, make_fraction(250), 0}},
      {"the tighter GPU on an emptier node",
       {"n1: A 40960 x8", half, make_fraction(250), 0},
       {kTwo, {held(1, 40960, 1000)}, make_fraction(250), 0}},
      {"whole GPUs on the fuller node",
       {kTwo, {held(1, 40960, 1000)}, make_whole(1), 0},
       {kTwo, {}, make_whole(1), 0}},
      {"units on the fuller node",
       {"n1: A 40960 x4 | nvidia.com/gpu=4", {make_units_holding("k", "n1", 2)}, make_units(1)},
       {"n1: A 40960 x4 | nvidia.com/gpu=4", {}, make_units(1)}}};
  for (const Row& row : rows) {
    EXPECT_GT(row.better.by("best-fit"), row.worse.by("best-fit")) << row.why;
  }
}

TEST(SpreadTest, Prefers) {
  const std::vector<model::HoldingPtr> half = {held(0, 20480, 500)};
  const std::vector<Row> rows = {
      {"the emptier GPU of a node",
       {kTwo, half, make_fraction(250), 1},
       {kTwo, half, make_fraction(250), 0}},
      {"the larger GPU",
       {"n1: T 16384, A 81920", {}, make_memory(8192), 1},
       {"n1: T 16384, A 81920", {}, make_memory(8192), 0}},
      {"an emptier node among equal GPUs",
       {kTwo, {}, make_fraction(250), 0},
       {kTwo, {held(1, 20480, 500)}, make_fraction(250), 0}},
      {"an emptier node before an emptier GPU",
       {"n1: A 40960 x8", {held(0, 20480, 500)}, make_fraction(250), 0},
       {kTwo, {held(1, 40960, 1000)}, make_fraction(250), 0}},
      {"whole GPUs on the emptier node",
       {kTwo, {}, make_whole(1), 0},
       {kTwo, {held(1, 40960, 1000)}, make_whole(1), 0}},
      {"units on the emptier node",
       {"n1: A 40960 x4 | nvidia.com/gpu=4", {}, make_units(1)},
       {"n1: A 40960 x4 | nvidia.com/gpu=4", {make_units_holding("k", "n1", 2)}, make_units(1)}}};
  for (const Row& row : rows) {
    EXPECT_GT(row.better.by("spread"), row.worse.by("spread")) << row.why;
  }
}

TEST(LeastUsedTest, RatesWhatIsMeasuredToBeFree) {
  const auto loaded = [](std::string_view text, bool is_agent_alive = true) {
    model::NodeInventory node = make_node(text);
    node.agent_alive = is_agent_alive;
    node.gpus[0].load = model::GpuLoad{.memory_percent = 30, .compute_percent = 70};
    if (node.gpus.size() > 1) node.gpus[1].load = model::GpuLoad{.memory_percent = 10};
    return fit::build_node_state(std::make_shared<const model::NodeInventory>(node), {});
  };
  const auto rate = [&](const model::NodeStatePtr& node, const model::Placement& placement) {
    return score::find_term("least-used")->function({*node, make_whole(1), placement});
  };
  const model::NodeStatePtr three = loaded("n1: A 40960 x3");
  EXPECT_EQ(rate(three, {{{.gpu = 0}}}), 30'000) << "the larger of memory and compute counts";
  EXPECT_EQ(rate(three, {{{.gpu = 1}}}), 90'000);
  EXPECT_EQ(rate(three, {{{.gpu = 2}}}), 0) << "a GPU without load counts as used";
  EXPECT_EQ(rate(three, {{{.gpu = 0}, {.gpu = 1}}}), 60'000);
  EXPECT_EQ(rate(three, {{{.gpu = 0}, {.gpu = 0}, {.gpu = 1}}}), 60'000) << "each GPU counts once";
  EXPECT_EQ(rate(three, {}), 40'000) << "the kubelet may take any GPU";
  EXPECT_EQ(rate(make_state("n1: A 40960"), {{{.gpu = 0}}}), 0);
  EXPECT_EQ(rate(loaded("n1: A 40960", false), {{{.gpu = 0}}}), 0) << "a silent agent is stale";
  EXPECT_EQ(rate(loaded("n1: A 40960", true), {{{.gpu = 0}}}), 30'000);
}

/// Two NVLink pairs, 0-1 and 2-3, of four links each, joined by one link each way round.
model::NodeStatePtr linked(std::vector<model::HoldingPtr> holdings, int across = 1) {
  model::NodeInventory node = make_node("n1: A 40960 x4");
  node.nvlinks = {{0, 4, across, 0}, {4, 0, 0, across}, {across, 0, 0, 4}, {0, across, 4, 0}};
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(node),
                               std::move(holdings));
}

std::int32_t locality(const model::NodeState& node, const std::vector<std::uint16_t>& gpus) {
  model::Placement placement;
  for (const std::uint16_t gpu : gpus) placement.allocations.push_back({.gpu = gpu});
  return score::find_term("nvlink-locality")->function({node, make_whole(2), placement});
}

TEST(NvlinkLocalityTest, Prefers) {
  struct Choice {
    std::string_view why;
    std::vector<model::HoldingPtr> holdings;
    std::vector<std::uint16_t> better;
    std::vector<std::uint16_t> worse;
  };
  const model::HoldingPtr on_one = held(1, 40960, 1000);
  for (const Choice& row :
       std::vector<Choice>{{"a pair to GPUs with few links", {}, {0, 1}, {0, 2}},
                           {"GPUs with few links to GPUs with none", {}, {0, 2}, {0, 3}},
                           {"the GPU that is left over to half of a pair", {on_one}, {0}, {2}},
                           {"a pair to one of a pair and the rest", {on_one}, {2, 3}, {0, 2}},
                           {"three that hang together to none", {}, {0, 1, 2}, {0, 3}},
                           {"a used GPU to one of an empty pair", {on_one}, {1}, {2}}}) {
    const model::NodeStatePtr node = linked(row.holdings);
    EXPECT_GT(locality(*node, row.better), locality(*node, row.worse)) << row.why;
  }
}

TEST(NvlinkLocalityTest, ExactValues) {
  const model::NodeStatePtr pairs = linked({}, 0);
  EXPECT_EQ(locality(*pairs, {0, 1}), score::kTermBound / 2) << "all links inside";
  EXPECT_EQ(locality(*pairs, {0, 2}), -score::kTermBound / 2) << "every link cut";
  EXPECT_EQ(locality(*pairs, {0}), -score::kTermBound / 2);
  EXPECT_EQ(locality(*pairs, {0, 1, 2, 3}), score::kTermBound / 2);
  const model::NodeStatePtr crossed = linked({});
  EXPECT_EQ(locality(*crossed, {0, 1}), 50'000 * (8 - 2) / 10);
  EXPECT_EQ(locality(*crossed, {0, 0}), -50'000 * 5 / 5) << "two containers on one GPU";
}

TEST(NvlinkLocalityTest, SaysNothingWhereThereAreNoLinks) {
  EXPECT_EQ(locality(*make_state("n1: A 40960 x4"), {0, 1}), 0);
  model::NodeInventory node = make_node("n1: A 40960 x2");
  node.nvlinks = {{0, 0}, {0, 0}};
  EXPECT_EQ(locality(*fit::build_node_state(std::make_shared<const model::NodeInventory>(node), {}),
                     {0, 1}),
            0);
  EXPECT_EQ(locality(*linked({}), {}), 0) << "the kubelet picks";
}

TEST(TermsTest, TheEndsOfTheScaleAreReached) {
  const Situation last = {"n1: A 40960", {}, make_whole(1)};
  EXPECT_EQ(last.by("best-fit"), score::kTermBound) << "nothing is left anywhere";
  EXPECT_EQ(last.by("spread"), 0);
  const Situation first = {"n1: X 100000 x64", {}, make_fraction(1)};
  EXPECT_LT(first.by("best-fit"), score::kTermBound / 100) << "nearly everything is left";
  EXPECT_GT(first.by("spread"), score::kTermBound - score::kTermBound / 100);
}

TEST(TermsTest, ExactValuesOfOnePlacement) {
  // A quarter on the half-full GPU of two: 500 of 2000 left on it, 2500 of 4000 on the node.
  const Situation there = {kTwo, {held(0, 20480, 500)}, make_fraction(250), 0};
  EXPECT_EQ(there.by("best-fit"), 100'000 - (90 * 250 + 10 * 625));
  EXPECT_EQ(there.by("spread"), 90 * 625 + 10 * 250);
}

TEST(TermsTest, EveryTermStaysWithinItsBounds) {
  const std::vector<std::string_view> nodes = {
      "n1: A 40960 x2 | nvidia.com/gpu=2", "n1: X 1 x3 | nvidia.com/gpu=0",
      "n1: X 7, A 40960, T 16384 unhealthy | nvidia.com/gpu=2", "n1: X 8796093022208 x64",
      "n1: A 40960 x2, A 40960 x2 mig | nvidia.com/gpu=4 nvidia.com/mig-1g.5gb=7"};
  const std::vector<std::vector<model::HoldingPtr>> holdings = {
      {},
      {held(0, 1, 999)},
      {held(0, 50000, 2500)},  // over-committed
      {make_holding("v", "n1", {make_whole_device(500, 40960)})},
      {make_units_holding("k", "n1", 1)},
      {make_units_holding("k", "n1", 900)}};
  const std::vector<model::GpuRequest> requests = {
      make_fraction(1), make_fraction(999), make_memory(1), make_memory(3815),
      make_whole(1),    make_whole(2),      make_units(1),  make_units(2)};
  int placements = 0;
  for (const std::string_view text : nodes) {
    for (const std::vector<model::HoldingPtr>& on_it : holdings) {
      const model::NodeStatePtr node = make_state(text, on_it);
      for (const model::GpuRequest& request : requests) {
        for (const model::Placement& option : fit_all(*node, request).options) {
          ++placements;
          for (const score::TermRow& term : score::all_terms()) {
            const std::int32_t got =
                term.function({.node = *node, .request = request, .placement = option});
            EXPECT_GE(got, -score::kTermBound) << term.name << " " << describe(*node);
            EXPECT_LE(got, score::kTermBound) << term.name << " " << describe(*node);
          }
        }
      }
    }
  }
  EXPECT_GT(placements, 100);
}

TEST(TermsTest, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const score::TermRow& row : score::all_terms()) {
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(score::find_term(row.name), &row);
    EXPECT_FALSE(row.meaning.empty());
  }
  for (const std::string_view name : {"", "best", "Best-Fit", "best-fit "}) {
    EXPECT_EQ(score::find_term(name), nullptr) << name;
  }
}

TEST(PolicyScoreTest, IsTheWeightedSumAndOrderMeansNothing) {
  const model::NodeStatePtr node = make_state(kTwo, {held(0, 20480, 500)});
  const model::GpuRequest request = make_fraction(250);
  const std::vector<model::Placement> options = fit_all(*node, request).options;
  ASSERT_EQ(options.size(), 2U);
  const score::TermInput input{.node = *node, .request = request, .placement = options[0]};
  const score::WeightedTerm best{score::find_term("best-fit"), 3};
  const score::WeightedTerm spread{score::find_term("spread"), -2};
  const std::int64_t expected = 3 * best.term->function(input) - 2 * spread.term->function(input);
  EXPECT_EQ(score::score({.name = "a", .terms = {best, spread}}, input), expected);
  EXPECT_EQ(score::score({.name = "a", .terms = {spread, best}}, input), expected);
  EXPECT_EQ(score::score({.name = "a", .terms = {}}, input), 0);
}

TEST(PolicyScoreTest, TheHeaviestPolicyThatLimitsAllowCannotOverflow) {
  EXPECT_LT(score::kMaxWeight * score::kTermBound,
            std::numeric_limits<std::int64_t>::max() / base::Limits{}.max_policy_terms);
}

TEST(PolicyTest, TheDefaultProfileIsFoundByName) {
  score::Policy policy;
  policy.default_profile_name = "b";
  policy.profiles.emplace("a", make_profile("spread"));
  policy.profiles.emplace("b", make_profile("best-fit"));
  EXPECT_EQ(policy.default_profile().name, "best-fit");
}

}  // namespace
}  // namespace snug::terms_test
