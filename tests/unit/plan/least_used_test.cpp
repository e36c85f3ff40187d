// Placements by the measured load of GPUs: the term least-used.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/plan/placement_finder.hpp"
#include "snug/plan/plan.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::least_used_test {
namespace {

/// The percentages of memory of the GPUs, by position; nullopt: the GPU has no load.
using Loads = std::vector<std::optional<std::uint8_t>>;

model::NodeStatePtr node_with(std::string_view text, const Loads& loads,
                              std::vector<model::HoldingPtr> holdings = {}) {
  model::NodeInventory node = make_mig_node(text);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i]) node.gpus[i].load = model::GpuLoad{.memory_percent = *loads[i]};
  }
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)),
                               std::move(holdings));
}

model::GpuRequest two_wholes() {
  model::GpuRequest request = make_whole(1);
  request.containers.push_back(request.containers.front());
  request.containers.back().container = "second";
  return request;
}

std::string gpus_of(const model::Placement& placement) {
  std::string text;
  for (const model::DeviceAllocation& allocation : placement.allocations)
    text += std::to_string(allocation.gpu);
  return text;
}

std::string chosen_gpus(const model::NodeState& node, const model::GpuRequest& request,
                        const score::Profile& profile) {
  const plan::NodeChoice choice = choose_without_others(node, OwnedIncomingPod(request, profile));
  return choice.reason == model::ReasonCode::kNone ? gpus_of(choice.placement) : "refused";
}

TEST(LeastUsedPlanTest, OfEqualGpusOfANodeTheLessUsedOnesAreChosen) {
  struct Row {
    std::string_view node;
    Loads loads;
    model::GpuRequest request;
    std::string_view by_load;
    std::string_view by_load_inverted;
  };
  constexpr std::string_view kThree = "n1: A 40960 x3";
  for (const Row& row : std::vector<Row>{
           {kThree, {80, 20, 50}, make_fraction(250), "1", "0"},
           {kThree, {50, 50, 0}, make_fraction(250), "2", "0"},
           {kThree, {{}, {}, 90}, make_fraction(250), "2", "0"},
           {kThree, {{}, {}, {}}, make_fraction(250), "0", "0"},
           {kThree, {30, 30, 30}, make_whole(1), "0", "0"},
           {kThree, {80, 20, 50}, make_whole(2), "12", "02"},
           {kThree, {80, 20, 50}, two_wholes(), "12", "02"},
           {"n1: A100 40960 x3 mig | dynamic",
            {80, 80, 10},
            make_slice_request("1g.5gb"),
            "2",
            "0"},
       }) {
    const model::NodeStatePtr node = node_with(row.node, row.loads);
    EXPECT_EQ(chosen_gpus(*node, row.request, make_profile("least-used")), row.by_load);
    EXPECT_EQ(chosen_gpus(*node, row.request, make_profile("least-used", -1000)),
              row.by_load_inverted);
    EXPECT_EQ(chosen_gpus(*node, row.request, make_profile("best-fit")),
              std::ssize(row.request.containers) + row.request.containers[0].count > 2 ? "01" : "0")
        << "a profile without the term takes the first of equal GPUs";
  }
}

TEST(LeastUsedPlanTest, OfEqualNodesTheLessUsedOneIsChosen) {
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable({node_with("n1: A 40960 x2", {60, 70}),
                                     node_with("n2: A 40960 x2", {90, 40}),
                                     node_with("n3: A 40960 x2", {{}, {}})});
  auto names = std::make_shared<model::NameIndex>();
  for (std::uint32_t i = 0; i < 3; ++i)
    names->emplace("n" + std::to_string(i + 1), base::NodeIndex{i});
  snapshot.names = std::move(names);
  const std::vector<std::string_view> candidates{"n1", "n2", "n3"};
  const auto winner = [&](const model::GpuRequest& request, std::string_view term) {
    const OwnedIncomingPod pod(request, make_profile(term));
    const plan::Plan plan = plan::plan({.snapshot = snapshot, .incoming = pod.view()}, candidates);
    return std::string(candidates[plan.winner.value()]) + " " +
           std::to_string(plan.placement.allocations.front().gpu);
  };
  EXPECT_EQ(winner(make_fraction(250), "least-used"), "n2 1");
  EXPECT_EQ(winner(make_whole(2), "least-used"), "n1 0") << "the mean of both GPUs counts";
  EXPECT_EQ(winner(make_fraction(250), "best-fit"), "n1 0");
}

TEST(LeastUsedPlanTest, FitWithoutTheTermOffersTheSameWhateverTheLoadIs) {
  const std::vector<model::HoldingPtr> holdings = {
      make_holding("h", "n1", {make_share(1, 20480, 500)})};
  for (const model::GpuRequest& request :
       {make_fraction(250), make_whole(1), make_whole(2), make_whole(4), two_wholes()}) {
    const FitResult idle = fit_all(*node_with("n1: A 40960 x4", {}, holdings), request);
    const FitResult loaded =
        fit_all(*node_with("n1: A 40960 x4", {90, 10, 40, 0}, holdings), request);
    EXPECT_EQ(idle.reason, loaded.reason);
    ASSERT_EQ(idle.options.size(), loaded.options.size());
    for (std::size_t i = 0; i < idle.options.size(); ++i)
      EXPECT_EQ(gpus_of(idle.options[i]), gpus_of(loaded.options[i]));
  }
}

}  // namespace
}  // namespace snug::least_used_test
