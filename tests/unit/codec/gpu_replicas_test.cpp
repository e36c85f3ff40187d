// Nodes whose device plug-in offers each GPU as several units.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "snug/codec/inventory.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "support/cluster.hpp"

namespace snug::gpu_replicas_test {
namespace {

constexpr const char* kT4 =
    R"({"version":1,"gpus":[{"index":0,"model":"Tesla-T4","memoryMiB":15360}]})";
constexpr const char* kTwo =
    R"({"version":1,"gpus":[{"index":0,"model":"A","memoryMiB":1},{"index":1,"model":"A","memoryMiB":1}]})";
constexpr const char* kMig =
    R"({"version":1,"gpus":[{"index":0,"model":"A","memoryMiB":1,"mig":true}]})";

enum class Source { kLabels, kAnnotation };

/// A node with one T4, as the device plug-in and GPU Feature Discovery describe it.
NodeFacts t4_node(Source source, const StringMap& labels, const StringMap& units) {
  NodeFacts node;
  node.name = "n1";
  node.labels = labels;
  if (source == Source::kAnnotation) node.annotations["snug.dev/inventory"] = kT4;
  node.labels.insert({{"nvidia.com/gpu.product", "Tesla-T4"},
                      {"nvidia.com/gpu.count", "1"},
                      {"nvidia.com/gpu.memory", "15360"}});
  node.capacity = node.allocatable = units;
  return node;
}

const StringMap kTenReplicas{{"nvidia.com/gpu.replicas", "10"},
                             {"nvidia.com/gpu.sharing-strategy", "time-slicing"}};

ReasonCode fit_of(const NodeInventory& inventory, std::vector<HoldingPtr> holdings,
                  const GpuRequest& request) {
  const auto state = add_up(std::make_shared<const NodeInventory>(inventory), std::move(holdings));
  FitMemo memo(request);
  PlacementList options;
  return fit(*state, Tenant{}, memo, options);
}

TEST(GpuReplicasTest, TenPodsFitOnATimeSlicedT4AndNotOneMore) {
  for (const Source source : {Source::kLabels, Source::kAnnotation}) {
    for (const std::string resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared"}) {
      const NodeInventory inventory =
          read_inventory(t4_node(source, kTenReplicas, {{resource, "10"}}), Limits{});
      EXPECT_EQ(inventory.replicas, 10);
      EXPECT_EQ(inventory.closed_to_all, ReasonCode::kNone) << inventory.closed_because;
      std::vector<HoldingPtr> holdings;
      const GpuRequest one = make_units(1, resource);
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(fit_of(inventory, holdings, one), ReasonCode::kNone) << i << resource;
        holdings.push_back(make_units_holding(std::to_string(i), "n1", 1, resource));
      }
      EXPECT_EQ(fit_of(inventory, holdings, one), ReasonCode::kNoRoom);
      for (const GpuRequest& annotated : {make_fraction(1), make_whole(1), make_memory(1)}) {
        EXPECT_EQ(fit_of(inventory, {}, annotated), ReasonCode::kWrongMode);
      }
    }
  }
}

TEST(GpuReplicasTest, EverySignOfThemClosesTheNodeToAnnotatedPods) {
  struct Row {
    std::string name;
    const char* inventory;
    StringMap labels, capacity;
    bool closed;
    std::int64_t replicas;
  };
  const std::string label = "nvidia.com/gpu.replicas";
  const std::string strategy = "nvidia.com/gpu.sharing-strategy";
  const std::string gpu = "nvidia.com/gpu";
  const std::string shared = "nvidia.com/gpu.shared";
  const std::vector<Row> rows = {
      {"none", kT4, {}, {{gpu, "1"}}, false, 1},
      {"no capacity", kT4, {}, {}, false, 1},
      {"label 1", kT4, {{label, "1"}, {strategy, "none"}}, {{gpu, "1"}}, false, 1},
      {"label 0", kT4, {{label, "0"}}, {{gpu, "1"}}, false, 1},
      {"label 2", kT4, {{label, "2"}}, {}, true, 2},
      {"label no number", kT4, {{label, "x"}}, {{gpu, "1"}}, false, 1},
      {"label too large", kT4, {{label, "1000001"}}, {{gpu, "1"}}, false, 1},
      {"time-slicing", kT4, {{strategy, "time-slicing"}}, {{gpu, "4"}}, true, 4},
      {"mps", kT4, {{strategy, "mps"}}, {}, true, 1},
      {"another strategy", kT4, {{strategy, "other"}}, {{gpu, "1"}}, false, 1},
      {"renamed", kTwo, {}, {{gpu, "0"}, {shared, "8"}}, true, 4},
      {"renamed, and none", kTwo, {}, {{gpu, "2"}, {shared, "0"}}, false, 1},
      {"renamed, no number", kTwo, {}, {{shared, "x"}}, false, 1},
      {"more units than GPUs", kTwo, {}, {{gpu, "7"}}, true, 3},
      {"as many units as GPUs", kTwo, {}, {{gpu, "2"}}, false, 1},
      {"units of slices", kMig, {}, {{gpu, "7"}}, false, 1},
      {"the label is exact", kTwo, {{label, "4"}}, {{gpu, "7"}}, true, 4},
  };
  for (const Row& row : rows) {
    NodeFacts node{.name = "n1", .labels = row.labels, .capacity = row.capacity};
    node.annotations["snug.dev/inventory"] = row.inventory;
    const NodeInventory inventory = read_inventory(node, Limits{});
    EXPECT_EQ(inventory.closed_to_annotated,
              row.closed ? ReasonCode::kWrongMode : ReasonCode::kNone)
        << row.name;
    if (row.closed) {
      EXPECT_NE(inventory.closed_because.find("several replicas"), std::string::npos) << row.name;
    }
    EXPECT_EQ(inventory.replicas, row.replicas) << row.name;
    node.labels["snug.dev/pool"] = "shares";
    EXPECT_EQ(read_inventory(node, Limits{}).closed_to_annotated, ReasonCode::kNone) << row.name;
    EXPECT_EQ(read_inventory(node, Limits{}).replicas, row.replicas) << row.name;
    node.labels["snug.dev/pool"] = "whole";
    EXPECT_EQ(read_inventory(node, Limits{}).closed_to_annotated, inventory.closed_to_annotated);
  }
}

TEST(GpuReplicasTest, WhereTheKubeletHasLostTheNodeSharesFit) {
  StringMap labels = kTenReplicas;
  labels["snug.dev/pool"] = "shares";
  const NodeInventory inventory =
      read_inventory(t4_node(Source::kLabels, labels, {{"nvidia.com/gpu", "10"}}), Limits{});
  EXPECT_EQ(fit_of(inventory, {}, make_fraction(500)), ReasonCode::kNone);
  EXPECT_EQ(fit_of(inventory, {}, make_units(1)), ReasonCode::kWrongPool);
}

TEST(GpuReplicasTest, ANodeThatLosesItsReplicasOpens) {
  NodeFacts node = t4_node(Source::kLabels, kTenReplicas, {{"nvidia.com/gpu", "10"}});
  EXPECT_EQ(read_inventory(node, Limits{}).closed_to_annotated, ReasonCode::kWrongMode);
  node.labels["nvidia.com/gpu.replicas"] = "1";
  node.labels["nvidia.com/gpu.sharing-strategy"] = "none";
  node.capacity = node.allocatable = {{"nvidia.com/gpu", "1"}};
  EXPECT_EQ(read_inventory(node, Limits{}).closed_to_annotated, ReasonCode::kNone);
}

TEST(GpuReplicasTest, SlicesThatAreSharedInTimeAreSharesToo) {
  NodeFacts node{.name = "n1"};
  node.labels = {
      {"nvidia.com/mig.strategy", "mixed"}, {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
      {"nvidia.com/gpu.count", "2"},        {"nvidia.com/gpu.memory", "40960"},
      {"nvidia.com/mig-1g.5gb.count", "7"}, {"nvidia.com/mig-1g.5gb.replicas", "4"}};
  node.capacity = {{"nvidia.com/gpu", "1"}, {"nvidia.com/mig-1g.5gb", "28"}};
  const NodeInventory inventory = read_inventory(node, Limits{});
  EXPECT_EQ(inventory.closed_to_all, ReasonCode::kNone) << inventory.closed_because;
  EXPECT_EQ(inventory.replicas, 4);
  const SharingRules enforced({{{"*"}, {.require_enforcement = true}}});
  const GpuRequest request = make_units(1, "nvidia.com/mig-1g.5gb");
  FitMemo memo(request);
  PlacementList options;
  const auto state = add_up(std::make_shared<const NodeInventory>(inventory), {});
  EXPECT_EQ(fit(*state, {.name_space = "x", .rules = &enforced}, memo, options),
            ReasonCode::kNotEnforced);
}

}  // namespace
}  // namespace snug::gpu_replicas_test
