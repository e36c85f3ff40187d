#include "snug/usage/cluster_usage.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/fit/tenant.hpp"
#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug::cluster_usage_test {
namespace {

using usage::ClusterUsage;

model::HoldingPtr of_namespace(std::string_view name_space,
                               const std::shared_ptr<model::Holding>& holding) {
  holding->name_space = name_space;
  return holding;
}

model::Snapshot make_snapshot(const std::vector<model::NodeStatePtr>& nodes) {
  model::Snapshot snapshot;
  snapshot.generation = {7};
  snapshot.nodes = model::NodeTable(nodes);
  for (const model::NodeStatePtr& node : nodes) {
    if (node == nullptr) continue;
    for (const model::HoldingPtr& holding : node->holdings) {
      snapshot.namespace_usage.add(holding->name_space,
                                   fit::held_compute(*holding, node->inventory.get()));
    }
  }
  return snapshot;
}

ClusterUsage usage_of(const std::vector<model::NodeStatePtr>& nodes,
                      const model::SharingRules& sharing = {}) {
  const model::Snapshot snapshot = make_snapshot(nodes);
  return usage::cluster_usage({.snapshot = snapshot, .sharing = sharing, .pending = {}});
}

TEST(ClusterUsageTest, AnEmptyClusterHasNothing) {
  const ClusterUsage usage = usage_of({});
  EXPECT_EQ(usage.generation.value, 7U);
  EXPECT_EQ(usage.nodes, 0);
  EXPECT_EQ(usage.gpus, 0);
  EXPECT_EQ(usage.compute().value, 0);
  EXPECT_EQ(usage.largest_free_share, std::nullopt);
  EXPECT_TRUE(usage.models.empty());
  EXPECT_TRUE(usage.namespaces.empty());
  EXPECT_TRUE(usage.pending.empty());
}

TEST(ClusterUsageTest, NodesGpusModelsAndNamespacesAreAddedUp) {
  const std::vector<model::NodeStatePtr> nodes{
      make_state("b: A100 40960 x2",
                 {of_namespace("ml", make_holding("p", "b", {make_share(0, 10240, 250)})),
                  of_namespace("web", make_holding("q", "b", {make_share(0, 4096, 100)}))}),
      nullptr,
      make_state("a: T4 16384, T4 16384 unhealthy",
                 {of_namespace("ml", make_holding("r", "a", {make_whole_device(0, 16384)}))})};
  const ClusterUsage usage = usage_of(
      nodes, model::SharingRules({{.namespaces = {"m*"}, .rule = {.cap = base::MilliGpu{4000}}}}));
  EXPECT_EQ(usage.nodes, 2);
  EXPECT_EQ(usage.gpus, 4);
  EXPECT_EQ(usage.memory.value, 2 * 40960 + 2 * 16384);
  EXPECT_EQ(usage.memory_held.value, 10240 + 4096 + 16384);
  EXPECT_EQ(usage.compute().value, 4000);
  EXPECT_EQ(usage.compute_held.value, 250 + 100 + 1000);
  EXPECT_EQ(usage.closed_gpus,
            (std::map<model::GpuClosure, std::int64_t>{{model::GpuClosure::kUnhealthy, 1}}));
  EXPECT_EQ(usage.all_closed_gpus(), 1);
  EXPECT_EQ(usage.free_whole_gpus, 1);
  EXPECT_EQ(usage.largest_free_share,
            (usage::FreeShare{.compute = {1000}, .memory = {40960}, .node = "b", .gpu = 1}));
  EXPECT_EQ(usage.free.value, 1000 + 650);
  EXPECT_EQ(usage.models, (std::vector<usage::ModelUsage>{{.model = "A100",
                                                           .gpus = 2,
                                                           .memory = {81920},
                                                           .memory_held = {14336},
                                                           .compute_held = {350},
                                                           .free_whole_gpus = 1},
                                                          {.model = "T4",
                                                           .gpus = 2,
                                                           .memory = {32768},
                                                           .memory_held = {16384},
                                                           .compute_held = {1000},
                                                           .free_whole_gpus = 0}}));
  EXPECT_EQ(usage.namespaces, (std::vector<usage::NamespaceTotals>{{.name_space = "ml",
                                                                    .pods = 2,
                                                                    .memory = {26624},
                                                                    .compute = {1250},
                                                                    .cap = base::MilliGpu{4000}},
                                                                   {.name_space = "web",
                                                                    .pods = 1,
                                                                    .memory = {4096},
                                                                    .compute = {100},
                                                                    .cap = std::nullopt}}));
}

TEST(ClusterUsageTest, AFreeWholeGpuIsOneThatAPodForAWholeGpuCouldTake) {
  struct Row {
    std::string_view node;
    std::vector<model::HoldingPtr> holdings;
    std::int64_t free_whole_gpus;
  };
  const auto units = [](std::int64_t count) { return make_units_holding("u", "n", count); };
  for (const Row& row : std::vector<Row>{
           {"n: A100 40960 x4", {}, 4},
           {"n: A100 40960 x4", {make_holding("p", "n", {make_share(1, 100, 1)})}, 3},
           {"n: A100 40960 x2 unhealthy, A100 40960 x1", {}, 1},
           {"n: A100 40960 x2 modes=mps", {}, 0},
           {"n: A100-SXM4-40GB 40960 mig", {}, 0},
           {"n: A100 40960 x2 | closed=BadInventory", {}, 0},
           {"n: A100 40960 x4 | pool=shares", {}, 4},
           {"n: A100 40960 x4 | pool=shares nvidia.com/gpu=4", {}, 4},
           {"n: A100 40960 x4 | pool=whole", {}, 0},
           {"n: A100 40960 x4 | pool=whole nvidia.com/gpu=3", {}, 3},
           {"n: A100 40960 x4 | nvidia.com/gpu=4", {units(1)}, 3},
           {"n: A100 40960 x4 | nvidia.com/gpu=4", {units(4)}, 0},
           {"n: A100 40960 x4 | nvidia.com/gpu=4", {units(5)}, 0},
           {"n: A100 40960 x2 modes=mps | nvidia.com/gpu=2", {}, 2},
           {"n: A100 40960 x2 unhealthy, A100 40960 | nvidia.com/gpu=3", {}, 1},
           {"n: A100 40960 x4", {make_unplaced("p", "n")}, 0},
       }) {
    const model::NodeStatePtr node = make_state(row.node, row.holdings);
    EXPECT_EQ(usage_of({node}).free_whole_gpus, row.free_whole_gpus) << row.node;
  }
}

TEST(ClusterUsageTest, ReplicasAreNoWholeGpus) {
  model::NodeInventory inventory = make_node("n: A100 40960 x2 | pool=whole nvidia.com/gpu=8");
  inventory.replicas = 4;
  const model::NodeStatePtr node =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(inventory)),
                            {make_units_holding("u", "n", 3)});
  const ClusterUsage usage = usage_of({node});
  EXPECT_EQ(usage.free_whole_gpus, 0);
  EXPECT_EQ(usage.compute_held.value, 750);
}

TEST(ClusterUsageTest, UnitsThatTheKubeletAssignsCountAsComputeOfTheFirstGpusOfTheNode) {
  const model::NodeStatePtr node =
      make_state("n: A100 40960, T4 16384 x2 | nvidia.com/gpu=3",
                 {of_namespace("ml", make_units_holding("u", "n", 2))});
  const ClusterUsage usage = usage_of({node});
  EXPECT_EQ(usage.compute_held.value, 2000);
  EXPECT_EQ(usage.memory_held.value, 0);
  EXPECT_EQ(usage.models.at(0).compute_held.value, 1000);
  EXPECT_EQ(usage.models.at(1).compute_held.value, 1000);
  EXPECT_EQ(usage.models.at(1).free_whole_gpus, 1);
  EXPECT_EQ(usage.namespaces.at(0).compute.value, 2000);
  EXPECT_EQ(usage.largest_free_share, std::nullopt) << "the node takes no shares";
}

TEST(ClusterUsageTest, TheLargestFreeShareIsTheLargestPartOfAGpuThatAPodCanGet) {
  struct Row {
    std::vector<std::string_view> nodes;
    std::optional<usage::FreeShare> share;
  };
  for (const Row& row : std::vector<Row>{
           {{"b: T4 16384", "a: T4 16384"},
            usage::FreeShare{.compute = {1000}, .memory = {16384}, .node = "a", .gpu = 0}},
           {{"a: T4 16384", "b: A100 40960"},
            usage::FreeShare{.compute = {1000}, .memory = {40960}, .node = "b", .gpu = 0}},
           {{"a: A100 40960 unhealthy", "b: A100 40960 | pool=whole nvidia.com/gpu=1"},
            std::nullopt},
           {{"a: A100-SXM4-40GB 40960 mig | dynamic"},
            usage::FreeShare{.compute = {1000}, .memory = {40192}, .node = "a", .gpu = 0}},
           {{"a: A100-SXM4-40GB 40960 mig slices=1g.5gb@0+2g.10gb@4"},
            usage::FreeShare{.compute = {285}, .memory = {9856}, .node = "a", .gpu = 0}},
           {{"a: A100-SXM4-40GB 40960 mig"}, std::nullopt},
       }) {
    std::vector<model::NodeStatePtr> nodes;
    nodes.reserve(row.nodes.size());
    for (const std::string_view node : row.nodes) nodes.push_back(make_state(node));
    EXPECT_EQ(usage_of(nodes).largest_free_share, row.share) << row.nodes.front();
  }
  // Of a shared GPU the smaller of memory and compute counts.
  const model::NodeStatePtr shared =
      make_state("a: A100 40960 x2", {make_holding("p", "a", {make_share(0, 4096, 700)}),
                                      make_holding("q", "a", {make_share(1, 20480, 100)})});
  EXPECT_EQ(usage_of({shared}).largest_free_share,
            (usage::FreeShare{.compute = {900}, .memory = {20480}, .node = "a", .gpu = 1}));
}

TEST(ClusterUsageTest, PendingPodsAreCountedByReason) {
  const model::Snapshot snapshot = make_snapshot({});
  using enum model::ReasonCode;
  const std::vector<model::ReasonCode> reasons{kNone,      kUnhealthy,  kCapReached, kUnhealthy,
                                               kMalformed, kCapReached, kNone};
  const ClusterUsage usage =
      usage::cluster_usage({.snapshot = snapshot, .sharing = {}, .pending = reasons});
  EXPECT_EQ(usage.pending, (std::vector<usage::PendingTotals>{
                               {kNone, 2}, {kCapReached, 2}, {kUnhealthy, 2}, {kMalformed, 1}}));
  EXPECT_EQ(usage.all_pending_pods(), 7);
}

TEST(ClusterUsageTest, FragmentationIsTheSumOverTheNodesForTheTypicalPods) {
  auto demand = std::make_shared<model::Demand>();
  demand->typical_pods = {{.gpus = 1, .gpu_milli = 500, .share = model::kFixedPointOne / 2},
                          {.gpus = 1, .gpu_milli = 1000, .share = model::kFixedPointOne / 2}};
  model::Snapshot snapshot = make_snapshot(
      {make_state("a: A100 40960 x2", {make_holding("p", "a", {make_share(0, 28672, 700)})}),
       make_state("b: A100 40960", {make_holding("q", "b", {make_share(0, 16384, 400)})}),
       make_state("c: A100 40960 | nvidia.com/gpu=1", {make_units_holding("u", "c", 1)})});
  EXPECT_EQ(
      usage::cluster_usage({.snapshot = snapshot, .sharing = {}, .pending = {}}).fragmented.value,
      0)
      << "nothing has been learned";
  snapshot.demand = demand;
  // a: GPU 0 has 300 free, too little for either pod. b: 600 free, too little for the second pod.
  // The GPU of c is the kubelet's.
  const ClusterUsage usage =
      usage::cluster_usage({.snapshot = snapshot, .sharing = {}, .pending = {}});
  EXPECT_EQ(usage.fragmented.value, 300 + 600 / 2);
  EXPECT_EQ(usage.free.value, 300 + 1000 + 600);
}

TEST(ClusterUsageTest, GpusThatVanishedStayCounted) {
  const ClusterUsage usage =
      usage_of({make_state("n: A100 40960", {make_holding("p", "n", {make_share(5, 1024, 100)})})});
  EXPECT_EQ(usage.gpus, 2);
  EXPECT_EQ(usage.memory.value, 40960);
  EXPECT_EQ(usage.compute_held.value, 100);
  EXPECT_EQ(usage.closed_gpus.at(model::GpuClosure::kVanished), 1);
  EXPECT_EQ(usage.models.at(0).model, "");
}

TEST(ClusterUsageTest, APointOfTheHistoryHasTheSameSums) {
  const ClusterUsage usage = usage_of(
      {make_state("n: A100 40960 x2", {make_holding("p", "n", {make_share(0, 1024, 100)})})});
  EXPECT_EQ(usage::usage_point(usage, std::chrono::sys_seconds{std::chrono::seconds{60}}),
            (usage::UsagePoint{.time = std::chrono::sys_seconds{std::chrono::seconds{60}},
                               .gpus = 2,
                               .compute_held = {100},
                               .compute = {2000},
                               .memory_held = {1024},
                               .memory = {81920},
                               .fragmented = {0},
                               .pending_pods = 0}));
}

/// The sums over models, namespaces and nodes agree, whatever the pods hold.
TEST(ClusterUsageTest, OfRandomClustersTheSumsAgree) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<model::NodeStatePtr> nodes;
    for (int n = 0; n < 5; ++n) {
      const std::string name = "n" + std::to_string(n);
      const bool kubelet = random.one_in(3);
      std::vector<model::HoldingPtr> holdings;
      const std::int64_t pods = random.from_to(0, 4);
      for (std::int64_t p = 0; p < pods; ++p) {
        const std::string uid = name + "-" + std::to_string(p);
        const auto gpu = static_cast<int>(random.from_to(0, 3));
        auto holding =
            kubelet ? make_units_holding(uid, name, random.from_to(1, 2))
            : random.one_in(4)
                ? make_holding(uid, name, {make_whole_device(gpu, 40960)})
                : make_holding(uid, name,
                               {make_share(gpu, random.from_to(1, 20000), random.from_to(1, 500))});
        holdings.push_back(of_namespace(random.one_in(2) ? "x" : "y", holding));
      }
      nodes.push_back(
          make_state(name + ": A100 40960 x2, T4 16384 x2 | nvidia.com/gpu=4", holdings));
    }
    const ClusterUsage usage = usage_of(nodes);
    base::MilliGpu of_models;
    base::MebiBytes memory_of_models;
    std::int64_t whole_of_models = 0;
    for (const usage::ModelUsage& model : usage.models) {
      of_models += model.compute_held;
      memory_of_models += model.memory_held;
      whole_of_models += model.free_whole_gpus;
    }
    EXPECT_EQ(of_models, usage.compute_held);
    EXPECT_EQ(memory_of_models, usage.memory_held);
    EXPECT_EQ(whole_of_models, usage.free_whole_gpus);
    base::MilliGpu of_namespaces;
    for (const usage::NamespaceTotals& totals : usage.namespaces) of_namespaces += totals.compute;
    EXPECT_EQ(of_namespaces, usage.compute_held);
    // What fit() says about a whole GPU.
    for (const model::NodeStatePtr& node : nodes) {
      const bool fits = fit_all(*node, make_whole(1)).reason == model::ReasonCode::kNone ||
                        fit_all(*node, make_units(1)).reason == model::ReasonCode::kNone;
      EXPECT_EQ(usage_of({node}).free_whole_gpus > 0, fits) << describe(*node);
    }
  }
}

}  // namespace
}  // namespace snug::cluster_usage_test
