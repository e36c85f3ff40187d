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
           Row{R"("limits":"mps",)", {}, kMps, false},
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
    EXPECT_TRUE(inventory.agent_alive) << "no inventory says that the agent is away";
  }
}

TEST(EnforcementTest, MpsLimitsAllSharesOnlyWhereNoGpuAllowsTimeSlicing) {
  struct Row {
    const char* first_gpu;
    const char* second_gpu;
    bool enforces_shares;
  };
  for (const Row& row : {
           Row{"", "", false},  // the default of `modes` has time-slicing
           Row{R"(,"modes":["whole","mps"])", R"(,"modes":["mps"])", true},
           Row{R"(,"modes":["mps"])", R"(,"modes":["mps","time-slicing"])", false},
           Row{R"(,"modes":["time-slicing"])", R"(,"modes":["mps"])", false},
           Row{R"(,"modes":["mps"])", R"(,"modes":["whole"])", true},
           Row{R"(,"modes":["mps"])", R"(,"mig":true)", true},
           Row{R"(,"modes":["mps"])", R"(,"healthy":false)", false},
       }) {
    const std::string gpu = R"("model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960)";
    model::NodeFacts node;
    node.name = "n1";
    node.labels["snug.dev/enforced"] = "true";
    node.annotations["snug.dev/inventory"] =
        R"({"version":1,"enforcement":"fail-closed","limits":"mps","gpus":[{"index":0,)" + gpu +
        row.first_gpu + R"(},{"index":1,)" + gpu + row.second_gpu + "}]}";
    const model::NodeInventory inventory = read(node);
    EXPECT_EQ(inventory.closed_message, "");
    EXPECT_EQ(inventory.enforces_shares, row.enforces_shares) << row.first_gpu << row.second_gpu;
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

struct LabelRow {
  const char* value;
  const char* keys;  // of the inventory
  const char* gpu;   // continues the GPU
  std::optional<model::OtherEnforcer> enforcer;
  const char* problem;  // after `the label snug.dev/enforcer is "<value>"`; empty: none
  bool allows_mps;
};

std::vector<LabelRow> label_rows() {
  using enum model::OtherEnforcer;
  const char* const uuid = R"("uuid":"GPU-1",)";
  const char* const unknown = "; expected nvfractions or koordlet";
  return {{"nvfractions", "", uuid, kNvFractions, "", true},
          {"koordlet", "", uuid, kKoordlet, "", false},
          {"koordlet", "", "", kKoordlet, "", false},
          {"nvfractions", "", "", kNvFractions,
           ", which needs the uuid of each GPU, and the inventory states none of GPU 0", true},
          {"hami", "", uuid, {}, unknown, true},
          {"", "", uuid, {}, unknown, true},
          {"koordlet",
           R"("enforcement":"open",)",
           uuid,
           {},
           ", but the inventory is of a snug-agent, which gives containers their GPUs itself: "
           "remove the label or the agent",
           true}};
}

TEST(EnforcementTest, TheLabelNamesAnotherEnforcer) {
  using enum model::GpuMode;
  for (const LabelRow& row : label_rows()) {
    model::NodeFacts node;
    node.name = "n1";
    node.annotations["snug.dev/inventory"] =
        std::string("{") + row.keys + R"("version":1,"gpus":[{)" + row.gpu +
        R"("modes":["whole","mps","time-slicing"],"index":0,"model":"A","memoryMiB":40960}]})";
    EXPECT_EQ(read(node).other_enforcer, std::nullopt) << "without the label";
    EXPECT_EQ(read(node).closed_message, "");
    node.labels = {{"snug.dev/enforcer", row.value}, {"snug.dev/enforced", "true"}};
    const model::NodeInventory inventory = read(node);
    EXPECT_EQ(inventory.other_enforcer, row.enforcer) << row.value;
    const bool closed = *row.problem != 0;
    EXPECT_EQ(inventory.closed_message, closed ? "the label snug.dev/enforcer is \"" +
                                                     std::string(row.value) + '"' + row.problem
                                               : "");
    EXPECT_EQ(inventory.closed_to_annotated,
              closed ? model::ReasonCode::kBadInventory : model::ReasonCode::kNone);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << "the kubelet needs no enforcer";
    EXPECT_EQ(inventory.gpus.at(0).allowed_modes,
              (row.allows_mps ? std::vector{kWhole, kMps, kTimeSlicing}
                              : std::vector{kWhole, kTimeSlicing}))
        << row.value;
    EXPECT_EQ(inventory.enforces_shares, inventory.enforcement != model::Enforcement::kOpen)
        << "the label snug.dev/enforced stays the operator's";
  }
}

const std::string kRequired = "required-plugins.noderesource.dev/";

TEST(EnforcementTest, EachContainerWithDevicesOfSnugRequiresTheAgent) {
  model::Reservation reservation{.uid = "uid-1", .node = "n1", .containers = {}};
  reservation.containers.push_back({"main", "gpu-memory=4G", std::vector{device(0, "GPU-a")}});
  const std::string longest(47, 'c');
  reservation.containers.push_back({longest, "gpu-memory=4G", std::vector{device(0, "GPU-a")}});
  model::StringMap annotations{{kRequired + "container.main", R"(["other"])"}};
  codec::require_agent(reservation, {}, annotations);
  EXPECT_EQ(annotations, (model::StringMap{{kRequired + "container.main", R"(["snug"])"},
                                           {kRequired + "container." + longest, R"(["snug"])"}}));
}

TEST(EnforcementTest, EachContainerWithLimitsOfGpusRequiresTheAgent) {
  const std::string fits(53, 'c');
  const std::string long_name(54, 'c');
  struct Row {
    model::ContainerFacts container;
    std::string key;  // after the slash; empty: none
  };
  const auto init = model::ContainerType::kInit;
  const Row rows[] = {
      {{.name = "main", .gpu_resources = {{"nvidia.com/gpu", "1"}}}, "container.main"},
      {{.name = "fetch", .type = init, .gpu_resources = {{"nvidia.com/gpu", "1"}}},
       "container.fetch"},
      {{.name = "slice", .gpu_resources = {{"nvidia.com/mig-1g.5gb", "1"}}}, "container.slice"},
      {{.name = fits, .gpu_resources = {{"nvidia.com/gpu", "1"}}}, "container." + fits},
      {{.name = long_name, .gpu_resources = {{"nvidia.com/gpu", "1"}}}, "pod"},
      {{.name = "none", .gpu_resources = {{"nvidia.com/gpu", "0"}}}, ""},
      {{.name = "other", .gpu_resources = {{"nvidia.com/other", "1"}}}, ""},
      {{.name = "plain"}, ""}};
  for (const Row& row : rows) {
    model::PodFacts pod;
    pod.containers.push_back(row.container);
    model::StringMap annotations;
    codec::require_agent({}, pod, annotations);
    model::StringMap expected;
    if (!row.key.empty()) expected[kRequired + row.key] = R"(["snug"])";
    EXPECT_EQ(annotations, expected) << row.container.name;
    EXPECT_LE(row.key.size(), 63U) << "the longest name of a key";
  }
}

}  // namespace
}  // namespace snug::enforcement_test
