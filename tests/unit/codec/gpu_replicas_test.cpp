// Nodes whose device plug-in offers each GPU as several units.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "snug/codec/inventory_codec.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "support/test_objects.hpp"

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
model::NodeFacts t4_node(Source source, const model::StringMap& labels,
                         const model::StringMap& units) {
  model::NodeFacts node;
  node.name = "n1";
  node.labels = labels;
  if (source == Source::kAnnotation) node.annotations["snug.dev/inventory"] = kT4;
  node.labels.insert({{"nvidia.com/gpu.product", "Tesla-T4"},
                      {"nvidia.com/gpu.count", "1"},
                      {"nvidia.com/gpu.memory", "15360"}});
  node.capacity = node.allocatable = units;
  return node;
}

const model::StringMap kTenReplicas{{"nvidia.com/gpu.replicas", "10"},
                                    {"nvidia.com/gpu.sharing-strategy", "time-slicing"}};

model::ReasonCode fit_of(const model::NodeInventory& inventory,
                         std::vector<model::HoldingPtr> holdings,
                         const model::GpuRequest& request) {
  const auto state = fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory),
                                           std::move(holdings));
  fit::FitMemo memo(request);
  model::PlacementList options;
  return fit::fit(*state, fit::Tenant{}, memo, options);
}

TEST(GpuReplicasTest, TenPodsFitOnATimeSlicedT4AndNotOneMore) {
  for (const Source source : {Source::kLabels, Source::kAnnotation}) {
    for (const std::string resource : {"nvidia.com/gpu", "nvidia.com/gpu.shared"}) {
      const model::NodeInventory inventory =
          codec::read_inventory(t4_node(source, kTenReplicas, {{resource, "10"}}), base::Limits{});
      EXPECT_EQ(inventory.replicas, 10);
      EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
      std::vector<model::HoldingPtr> holdings;
      const model::GpuRequest one = make_units(1, resource);
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(fit_of(inventory, holdings, one), model::ReasonCode::kNone) << i << resource;
        holdings.push_back(make_units_holding(std::to_string(i), "n1", 1, resource));
      }
      EXPECT_EQ(fit_of(inventory, holdings, one), model::ReasonCode::kNoRoom);
      for (const model::GpuRequest& annotated : {make_fraction(1), make_whole(1), make_memory(1)}) {
        EXPECT_EQ(fit_of(inventory, {}, annotated), model::ReasonCode::kWrongMode);
      }
    }
  }
}

TEST(GpuReplicasTest, EverySignOfThemClosesTheNodeToAnnotatedPods) {
  struct Row {
    std::string name;
    const char* inventory;
    model::StringMap labels, capacity;
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
    model::NodeFacts node{.name = "n1", .labels = row.labels, .capacity = row.capacity};
    node.annotations["snug.dev/inventory"] = row.inventory;
    const model::NodeInventory inventory = codec::read_inventory(node, base::Limits{});
    EXPECT_EQ(inventory.closed_to_annotated,
              row.closed ? model::ReasonCode::kWrongMode : model::ReasonCode::kNone)
        << row.name;
    if (row.closed) {
      EXPECT_NE(inventory.closed_message.find("several replicas"), std::string::npos) << row.name;
    }
    EXPECT_EQ(inventory.replicas, row.replicas) << row.name;
    node.labels["snug.dev/pool"] = "shares";
    EXPECT_EQ(codec::read_inventory(node, base::Limits{}).closed_to_annotated,
              model::ReasonCode::kNone)
        << row.name;
    EXPECT_EQ(codec::read_inventory(node, base::Limits{}).replicas, row.replicas) << row.name;
    node.labels["snug.dev/pool"] = "whole";
    EXPECT_EQ(codec::read_inventory(node, base::Limits{}).closed_to_annotated,
              inventory.closed_to_annotated);
  }
}

TEST(GpuReplicasTest, WhereTheKubeletHasLostTheNodeSharesFit) {
  model::StringMap labels = kTenReplicas;
  labels["snug.dev/pool"] = "shares";
  const model::NodeInventory inventory = codec::read_inventory(
      t4_node(Source::kLabels, labels, {{"nvidia.com/gpu", "10"}}), base::Limits{});
  EXPECT_EQ(fit_of(inventory, {}, make_fraction(500)), model::ReasonCode::kNone);
  EXPECT_EQ(fit_of(inventory, {}, make_units(1)), model::ReasonCode::kWrongPool);
}

TEST(GpuReplicasTest, ANodeThatLosesItsReplicasOpens) {
  model::NodeFacts node = t4_node(Source::kLabels, kTenReplicas, {{"nvidia.com/gpu", "10"}});
  EXPECT_EQ(codec::read_inventory(node, base::Limits{}).closed_to_annotated,
            model::ReasonCode::kWrongMode);
  node.labels["nvidia.com/gpu.replicas"] = "1";
  node.labels["nvidia.com/gpu.sharing-strategy"] = "none";
  node.capacity = node.allocatable = {{"nvidia.com/gpu", "1"}};
  EXPECT_EQ(codec::read_inventory(node, base::Limits{}).closed_to_annotated,
            model::ReasonCode::kNone);
}

TEST(GpuReplicasTest, SlicesThatAreSharedInTimeAreSharesToo) {
  model::NodeFacts node{.name = "n1"};
  node.labels = {
      {"nvidia.com/mig.strategy", "mixed"}, {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"},
      {"nvidia.com/gpu.count", "2"},        {"nvidia.com/gpu.memory", "40960"},
      {"nvidia.com/mig-1g.5gb.count", "7"}, {"nvidia.com/mig-1g.5gb.replicas", "4"}};
  node.capacity = {{"nvidia.com/gpu", "1"}, {"nvidia.com/mig-1g.5gb", "28"}};
  const model::NodeInventory inventory = codec::read_inventory(node, base::Limits{});
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
  EXPECT_EQ(inventory.replicas, 4);
  const model::SharingRules enforced({{{"*"}, {.require_enforcement = true}}});
  const model::GpuRequest request = make_units(1, "nvidia.com/mig-1g.5gb");
  fit::FitMemo memo(request);
  model::PlacementList options;
  const auto state =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
  EXPECT_EQ(fit::fit(*state, {.name_space = "x", .rules = &enforced}, memo, options),
            model::ReasonCode::kNotEnforced);
}

}  // namespace
}  // namespace snug::gpu_replicas_test
