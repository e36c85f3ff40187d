// What an inventory says of the node's agent and of limits, and what a binding requires of the
// agent.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "snug/codec/inventory_codec.hpp"
#include "snug/codec/reservation_codec.hpp"

namespace snug::enforcement_test {
namespace {

model::NodeFacts node_that_says(const std::string& keys) {
  model::NodeFacts node;
  node.name = "n1";
  node.annotations["snug.dev/inventory"] =
      "{" + keys + R"("version":1,"gpus":[{"index":0,"model":"A100","memoryMiB":40960}]})";
  return node;
}

model::NodeInventory read(const model::NodeFacts& node) {
  return codec::read_inventory(node, base::Limits{});
}

model::ReservedDevice device(int index, const std::string& uuid) {
  return {index, uuid, model::GpuMode::kMps, {3815}, {93}, std::nullopt};
}

TEST(EnforcementTest, WhatAnAgentSaysOfEnforcementCountsBesideTheLabel) {
  struct Row {
    const char* keys;
    std::optional<model::Enforcement> enforcement;
    std::optional<model::ShareLimits> limits;
    bool enforces_shares;
  };
  using enum model::Enforcement;
  using enum model::ShareLimits;
  for (const Row& row : {
           Row{"", {}, {}, true},
           Row{R"("enforcement":"fail-closed",)", kFailClosed, {}, true},
           Row{R"("enforcement":"open",)", kOpen, {}, false},
           Row{R"("limits":"none",)", {}, kNone, false},
           Row{R"("limits":"mps",)", {}, kMps, true},
           Row{R"("enforcement":"fail-closed","limits":"driver",)", kFailClosed, kDriver, true},
           Row{R"("enforcement":"fail-closed","limits":"hami-core",)", kFailClosed, kHamiCore,
               true},
           Row{R"("enforcement":"fail-closed","limits":"none",)", kFailClosed, kNone, false},
           Row{R"("enforcement":"open","limits":"driver",)", kOpen, kDriver, false},
       }) {
    model::NodeFacts node = node_that_says(row.keys);
    EXPECT_FALSE(read(node).enforces_shares) << "without the label: " << row.keys;
    node.labels["snug.dev/enforced"] = "true";
    const model::NodeInventory inventory = read(node);
    EXPECT_EQ(inventory.closed_message, "");
    EXPECT_EQ(inventory.enforcement, row.enforcement) << row.keys;
    EXPECT_EQ(inventory.share_limits, row.limits) << row.keys;
    EXPECT_EQ(inventory.enforces_shares, row.enforces_shares) << row.keys;
  }
}

TEST(EnforcementTest, AWrongWordAboutEnforcementClosesTheNode) {
  struct Row {
    const char* keys;
    const char* problem;
  };
  for (const Row& row :
       {Row{R"("enforcement":"closed",)", "enforcement must be open or fail-closed"},
        Row{R"("enforcement":"",)", "enforcement must be open or fail-closed"},
        Row{R"("enforcement":true,)", "enforcement must be a string"},
        Row{R"("limits":"MPS",)", "limits must be none, driver, mps or hami-core"},
        Row{R"("limits":null,)", "limits must be a string"}}) {
    model::NodeFacts node = node_that_says(row.keys);
    node.labels["snug.dev/enforced"] = "true";
    const model::NodeInventory inventory = read(node);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory);
    EXPECT_NE(inventory.closed_message.find(row.problem), std::string::npos)
        << inventory.closed_message;
  }
}

TEST(EnforcementTest, EachContainerWithDevicesRequiresTheAgent) {
  model::Reservation reservation{.uid = "uid-1", .node = "n1", .containers = {}};
  reservation.containers.push_back({"main", "gpu-memory=4G", std::vector{device(0, "GPU-a")}});
  const std::string longest(47, 'c');
  reservation.containers.push_back({longest, "gpu-memory=4G", std::vector{device(0, "GPU-a")}});
  reservation.containers.push_back(
      {"kubelets", "nvidia.com/gpu=1", model::KubeletUnits{"nvidia.com/gpu", 1}});
  const std::string key = "required-plugins.noderesource.dev/container.";
  model::StringMap annotations{{key + "main", R"(["other"])"}};
  codec::require_agent(reservation, annotations);
  EXPECT_EQ(annotations,
            (model::StringMap{{key + "main", R"(["snug"])"}, {key + longest, R"(["snug"])"}}));
  EXPECT_LE(("container." + longest).size(), 63U) << "the longest name of a key";
}

}  // namespace
}  // namespace snug::enforcement_test
