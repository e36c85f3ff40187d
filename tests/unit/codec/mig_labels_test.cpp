// Nodes with MIG slices as NVIDIA's device plug-in, GPU Feature Discovery and mig-manager leave
// them.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "snug/codec/inventory_codec.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/fit/tenant.hpp"
#include "support/test_objects.hpp"
#include "unit/codec/mig_nodes.hpp"

namespace snug::mig_labels_test {
namespace {

using model::GpuInfo;
using model::NodeInventory;
using model::ReasonCode;

constexpr ReasonCode kOpen = ReasonCode::kNone;
constexpr ReasonCode kBad = ReasonCode::kBadInventory;
constexpr ReasonCode kWrong = ReasonCode::kWrongMode;

NodeInventory read(const NodeFacts& node) { return codec::read_inventory(node, base::Limits{}); }

struct Row {
  std::string name;
  NodeFacts node;
  std::size_t gpus = 0;
  ReasonCode closed_to_all = kOpen;
  ReasonCode closed_to_annotated = kOpen;
  std::string because;                        // a part
  std::map<std::string, std::int64_t> milli;  // of a unit; keys without `nvidia.com/`
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class MigLabelsTest : public testing::TestWithParam<Row> {};

TEST_P(MigLabelsTest, GiveTheInventory) {
  const Row& row = GetParam();
  const NodeInventory inventory = read(row.node);
  EXPECT_EQ(inventory.gpus.size(), row.gpus);
  EXPECT_EQ(inventory.closed_to_all, row.closed_to_all) << inventory.closed_message;
  EXPECT_EQ(inventory.closed_to_annotated, row.closed_to_annotated) << inventory.closed_message;
  EXPECT_EQ(inventory.closed_message.empty(), row.because.empty()) << inventory.closed_message;
  EXPECT_NE(inventory.closed_message.find(row.because), std::string::npos)
      << inventory.closed_message;
  for (const auto& [resource, milli] : row.milli) {
    EXPECT_EQ(fit::unit_compute(inventory, "nvidia.com/" + resource), base::MilliGpu{milli})
        << resource;
  }
}

// What a kubelet keeps for minutes of a resource that its plug-in no longer has.
const StringMap kGone{{"mig-1g.5gb", "0"}};
const StringMap kNoSmallSlices{{"mig-1g.5gb.count", "-"}, {"mig-1g.5gb.replicas", "-"}};

StringMap with(StringMap rows, const StringMap& more) {
  for (const auto& [key, value] : more) rows[key] = value;
  return rows;
}

INSTANTIATE_TEST_SUITE_P(
    Mixed, MigLabelsTest,
    testing::Values(
        Row{"all in slices",
            mixed_node({}),
            8,
            kOpen,
            kWrong,
            "offers MIG slices of the node's GPUs (nvidia.com/mig.strategy=mixed)",
            {{"mig-1g.5gb", 142}, {"gpu", 1000}}},
        Row{"all-balanced",
            mixed_node({{"mig-1g.5gb.count", "16"},
                        {"mig-2g.10gb.count", "8"},
                        {"mig-3g.20gb.count", "8"}},
                       {{"mig-1g.5gb", "16"}, {"mig-2g.10gb", "8"}, {"mig-3g.20gb", "8"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb", 142}, {"mig-2g.10gb", 285}, {"mig-3g.20gb", 428}}},
        Row{"half of the GPUs",
            mixed_node({{"gpu.replicas", "1"}, {"mig-1g.5gb.count", "28"}},
                       {{"gpu", "4"}, {"mig-1g.5gb", "28"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb", 142}, {"gpu", 1000}}},
        Row{"half of the GPUs, and the others without slices",
            mixed_node(with({{"gpu.replicas", "1"}}, kNoSmallSlices),
                       {{"gpu", "4"}, {"mig-1g.5gb", "-"}}),
            8,
            kOpen,
            kWrong,
            "GPUs of the node are in MIG mode, and the labels do not say which",
            {{"gpu", 1000}}},
        Row{"all in MIG mode, without slices, and nothing offered",
            mixed_node(kNoSmallSlices, {{"gpu", "-"}, {"mig-1g.5gb", "-"}}),
            8,
            kOpen,
            kWrong,
            "the node's GPUs are in MIG mode (nvidia.com/gpu.replicas is 0)",
            {}},
        Row{"media engines",
            mixed_node({{"mig-1g.5gb.me.count", "8"}}, {{"mig-1g.5gb.me", "8"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb.me", 142}}},
        Row{"slices that no table has count nothing",
            mixed_node({{"mig-9g.1gb.count", "8"}, {"mig-x.count", "1"}},
                       {{"mig-9g.1gb", "8"}, {"mig-x", "1"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-9g.1gb", 0}, {"mig-x", 0}}},
        Row{"nor do those of a card that no table has",
            mixed_node({{"gpu.product", "Card"}, {"mig-1g.5gb.product", "Card-MIG-1g.5gb"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb", 0}}},
        Row{"several models: the slices' own label names theirs",
            mixed_node({{"gpu.product", "Tesla-T4"}, {"gpu.count", "4"}, {"gpu.replicas", "1"}},
                       {{"gpu", "4"}}),
            4,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb", 142}, {"gpu", 1000}}},
        Row{"slices shared in time",
            mixed_node({{"mig-1g.5gb.replicas", "4"}}, {{"mig-1g.5gb", "224"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb", 36}, {"gpu", 1000}}},
        Row{"slices shared in time, renamed",
            mixed_node({{"mig-1g.5gb.replicas", "4"}},
                       {{"mig-1g.5gb", "0"}, {"mig-1g.5gb.shared", "224"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-1g.5gb.shared", 36}}},
        Row{"one slice unhealthy",
            mixed_node({}, {}, {{"mig-1g.5gb", "55"}}),
            8,
            kOpen,
            kWrong,
            "mixed",
            {}}));

INSTANTIATE_TEST_SUITE_P(
    AfterANewLayout, MigLabelsTest,
    testing::Values(
        Row{"the status is ahead",
            mixed_node({}, {{"mig-1g.5gb", "16"}}),
            0,
            kBad,
            kOpen,
            "the node's capacity has 16 nvidia.com/mig-1g.5gb, but its labels say 56",
            {{"mig-1g.5gb", 142}}},
        Row{"the labels are ahead",
            mixed_node({{"mig-3g.20gb.count", "16"}}),
            0,
            kBad,
            kOpen,
            "the node's capacity has 0 nvidia.com/mig-3g.20gb, but its labels say 16",
            {}},
        Row{"the labels have forgotten a profile",
            mixed_node(kNoSmallSlices),
            0,
            kBad,
            kOpen,
            "the node's capacity has 56 nvidia.com/mig-1g.5gb, but its labels say 0",
            {}},
        Row{"and the kubelet has too, but for its capacity",
            mixed_node(with({{"mig-3g.20gb.count", "16"}}, kNoSmallSlices), {{"mig-3g.20gb", "16"}},
                       kGone),
            8,
            kOpen,
            kWrong,
            "mixed",
            {{"mig-3g.20gb", 428}}},
        Row{"back to whole GPUs",
            mixed_node(with({{"gpu.replicas", "1"}}, kNoSmallSlices), {{"gpu", "8"}}, kGone),
            8,
            kOpen,
            kOpen,
            "",
            {}},
        Row{"a count that is none",
            mixed_node({{"mig-1g.5gb.count", "many"}}),
            0,
            kBad,
            kOpen,
            "the label nvidia.com/mig-1g.5gb.count is \"many\"",
            {}},
        Row{"slices under another strategy",
            mixed_node({{"mig.strategy", "-"}}, {{"gpu", "8"}}),
            0,
            kBad,
            kOpen,
            "56 nvidia.com/mig-1g.5gb, but its labels do not say nvidia.com/mig.strategy=mixed",
            {}},
        Row{"no such strategy",
            mixed_node({{"mig.strategy", "both"}}),
            0,
            kBad,
            kOpen,
            "nvidia.com/mig.strategy is \"both\"; expected none, single or mixed",
            {}},
        Row{"more GPUs than there are",
            mixed_node({}, {{"gpu", "9"}}),
            0,
            kBad,
            kOpen,
            "capacity has 9 nvidia.com/gpu, but its labels say 8 GPUs",
            {}}));

INSTANTIATE_TEST_SUITE_P(
    Single, MigLabelsTest,
    testing::Values(
        Row{"all of one profile",
            single_node({}),
            0,
            kOpen,
            kWrong,
            "all GPUs of the node as MIG slices (nvidia.com/mig.strategy=single), and pods request "
            "them",
            {{"gpu", 142}}},
        Row{"more slices than a node may have GPUs",
            single_node({{"gpu.count", "112"}}, {{"gpu", "112"}}),
            0,
            kOpen,
            kWrong,
            "single",
            {{"gpu", 142}}},
        Row{"7g.40gb",
            single_node({{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-7g.40gb"}, {"gpu.count", "8"}},
                        {{"gpu", "8"}}),
            0,
            kOpen,
            kWrong,
            "single",
            {{"gpu", 1000}}},
        Row{"slices shared in time",
            single_node({{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
                         {"gpu.replicas", "2"}},
                        {{"gpu", "112"}}),
            0,
            kOpen,
            kWrong,
            "publish its slices in snug.dev/inventory",
            {{"gpu", 71}}},
        Row{"a profile that no table has",
            single_node({{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1c.3g.20gb"}}),
            0,
            kOpen,
            kWrong,
            "single",
            {{"gpu", 0}}},
        Row{"another number",
            single_node({}, {{"gpu", "16"}}),
            0,
            kBad,
            kOpen,
            "capacity has 16 nvidia.com/gpu, but its labels say 56 slices with replicas 1",
            {{"gpu", 142}}},
        Row{"invalid",
            single_node({{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"},
                         {"gpu.count", "0"},
                         {"gpu.replicas", "0"},
                         {"gpu.memory", "0"}}),
            0,
            kBad,
            kOpen,
            "ends in -MIG-INVALID: under the MIG strategy single all GPUs",
            {{"gpu", 0}}},
        Row{"the strategy is not said",
            single_node({{"mig.strategy", "none"}}),
            0,
            kBad,
            kOpen,
            "names a MIG profile, but nvidia.com/mig.strategy is not single",
            {}},
        Row{"no GPU in MIG mode",
            single_node({{"gpu.product", "NVIDIA-A100-SXM4-40GB"}, {"gpu.count", "8"}},
                        {{"gpu", "8"}}),
            8,
            kOpen,
            kOpen,
            "",
            {{"gpu", 1000}}}));

INSTANTIATE_TEST_SUITE_P(None, MigLabelsTest,
                         testing::Values(Row{"GPUs in MIG mode are offered whole",
                                             single_node({{"mig.strategy", "-"},
                                                          {"gpu.product", "NVIDIA-A100-SXM4-40GB"},
                                                          {"gpu.count", "8"},
                                                          {"gpu.replicas", "0"}},
                                                         {{"gpu", "8"}}),
                                             8,
                                             kOpen,
                                             kWrong,
                                             "the node's GPUs are in MIG mode",
                                             {{"gpu", 1000}}}));

constexpr const char* kInventory =
    R"({"version":1,"gpus":[{"index":0,"model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960,"mig":true},)"
    R"({"index":1,"model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960}]})";

NodeFacts annotated_node(const StringMap& labels, const StringMap& capacity) {
  NodeFacts node;
  node.name = "n1";
  node.annotations["snug.dev/inventory"] = kInventory;
  write(node.labels, labels);
  write(node.capacity, capacity);
  return node;
}

ReasonCode fit_of(const NodeInventory& inventory, const model::GpuRequest& request,
                  std::vector<model::HoldingPtr> holdings = {}) {
  const auto state =
      fit::build_node_state(std::make_shared<const NodeInventory>(inventory), std::move(holdings));
  fit::FitMemo memo(request);
  model::PlacementList options;
  return fit::fit(*state, fit::Tenant{}, memo, options);
}

TEST(MigReconfigurationTest, NoPodOfEitherKindComesUntilItHasSucceeded) {
  for (const char* state : {"pending", "rebooting", "failed", "something new"}) {
    const StringMap labels{{"mig.config", "all-balanced"}, {"mig.config.state", state}};
    for (const NodeFacts& node :
         {mixed_node(labels), single_node(labels), annotated_node(labels, {{"gpu", "1"}})}) {
      const NodeInventory inventory = read(node);
      EXPECT_EQ(inventory.closed_to_all, ReasonCode::kReconfiguring);
      EXPECT_EQ(inventory.closed_message, "the label nvidia.com/mig.config.state is \"" +
                                              std::string(state) +
                                              "\" (nvidia.com/mig.config is \"all-balanced\"); the "
                                              "node takes GPU pods again when it is success");
      EXPECT_EQ(fit_of(inventory, make_units(1)), ReasonCode::kReconfiguring);
      EXPECT_EQ(fit_of(inventory, make_fraction(100)), ReasonCode::kReconfiguring);
    }
  }
  for (const char* state : {"success", "", "-"}) {
    EXPECT_EQ(read(mixed_node({{"mig.config.state", state}})).closed_to_all, kOpen) << state;
  }
}

TEST(MigReconfigurationTest, HoldersStayCountedWhileItLasts) {
  const std::string slices = "nvidia.com/mig-1g.5gb";
  const NodeInventory inventory = read(mixed_node({{"mig.config.state", "pending"}}));
  const auto state = fit::build_node_state(std::make_shared<const NodeInventory>(inventory),
                                           {make_units_holding("a", "n1", 3, slices)});
  EXPECT_EQ(state->kubelet_used.at(slices), 3);
  EXPECT_EQ(state->kubelet_milli, 3 * 142);
}

TEST(MigReconfigurationTest, ItIsSaidBeforeWhatDoesNotAgreeMeanwhile) {
  NodeFacts node = mixed_node({{"mig.config.state", "pending"}}, {{"mig-1g.5gb", "0"}});
  EXPECT_EQ(read(node).closed_to_all, ReasonCode::kReconfiguring);
  node.labels = {{"nvidia.com/mig.config.state", "pending"}};
  EXPECT_EQ(read(node).closed_to_all, ReasonCode::kReconfiguring) << "discovery has gone";
}

TEST(MigSlicesTest, FiftySixPodsFitAndNotOneMore) {
  const std::string slices = "nvidia.com/mig-1g.5gb";
  const NodeInventory inventory = read(mixed_node({}));
  const NodeInventory one_ill = read(mixed_node({}, {}, {{"mig-1g.5gb", "55"}}));
  std::vector<model::HoldingPtr> holdings;
  for (int i = 0; i < 55; ++i) {
    holdings.push_back(make_units_holding(std::to_string(i), "n1", 1, slices));
  }
  EXPECT_EQ(fit_of(inventory, make_units(1, slices), holdings), kOpen);
  EXPECT_EQ(fit_of(one_ill, make_units(1, slices), holdings), ReasonCode::kNoRoom);
  holdings.push_back(make_units_holding("55", "n1", 1, slices));
  EXPECT_EQ(fit_of(inventory, make_units(1, slices), holdings), ReasonCode::kNoRoom);
  EXPECT_EQ(fit_of(inventory, make_units(1, "nvidia.com/mig-2g.10gb")), ReasonCode::kNoProfile);
  EXPECT_EQ(fit_of(inventory, make_units(1)), kWrong);
}

TEST(MigSlicesTest, TheyCountTowardsACap) {
  const NodeInventory inventory = read(mixed_node({}));
  const auto state = fit::build_node_state(std::make_shared<const NodeInventory>(inventory), {});
  const model::GpuRequest request = make_units(2, "nvidia.com/mig-1g.5gb");
  for (const auto& [left, reason] : {std::pair{284, kOpen}, {283, ReasonCode::kCapReached}}) {
    fit::FitMemo memo(request);
    model::PlacementList options;
    const fit::Tenant tenant{.name_space = "x", .rules = nullptr, .cap_remaining = left};
    EXPECT_EQ(fit::fit(*state, tenant, memo, options), reason) << left;
  }
}

TEST(MigSlicesTest, WhatThePlugInOffersIsTold) {
  const NodeInventory offered = read(annotated_node({}, {{"gpu", "1"},
                                                         {"mig-1g.5gb", "5"},
                                                         {"mig-1g.5gb.me", "1"},
                                                         {"mig-3c.3g.20gb", "1"},
                                                         {"mig-2g.10gb", "0"}}));
  EXPECT_EQ(offered.closed_to_all, kOpen);
  EXPECT_EQ(offered.closed_to_annotated, kOpen);
  EXPECT_EQ(offered.plugin_profiles,
            (std::set<std::string, std::less<>>{"1g.5gb", "1g.5gb+me", "3g.20gb"}));
  EXPECT_FALSE(offered.plugin_owns_all_slices);
  EXPECT_EQ(fit::unit_compute(offered, "nvidia.com/mig-1g.5gb"), base::MilliGpu{142});
  EXPECT_EQ(fit::unit_compute(offered, "nvidia.com/mig-3c.3g.20gb"), base::MilliGpu{428});
  EXPECT_TRUE(read(annotated_node({}, {{"gpu", "1"}})).plugin_profiles.empty());
  NodeFacts two_names = annotated_node({}, {{"mig-7g.79gb", "1"}});
  two_names.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[{"index":0,"model":"A100-SXM4-80GB","memoryMiB":81920,"mig":true}]})";
  EXPECT_TRUE(read(two_names).plugin_profiles.contains("7g.80gb"));
}

TEST(MigSlicesTest, UnderSingleAllAreThePlugIns) {
  const StringMap labels{{"mig.strategy", "single"},
                         {"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}};
  for (const NodeFacts& node : {annotated_node(labels, {{"gpu", "14"}}), single_node({})}) {
    const NodeInventory inventory = read(node);
    EXPECT_TRUE(inventory.plugin_owns_all_slices);
    EXPECT_EQ(inventory.replicas, 1) << "slices are no replicas";
    EXPECT_EQ(fit::unit_compute(inventory, "nvidia.com/gpu"), base::MilliGpu{142});
  }
  EXPECT_FALSE(read(annotated_node({{"mig.strategy", "single"}}, {})).plugin_owns_all_slices);
}

TEST(MigSlicesTest, ATableOfTheNodeWinsOverOurs) {
  NodeFacts node = annotated_node({}, {{"mig-1g.5gb", "1"}});
  node.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[{"index":0,"model":"Card","memoryMiB":40960,"mig":true,"migProfiles":[)"
      R"({"profile":"1g.5gb","size":1,"memoryMiB":4864,"starts":[0,1,2,3]},)"
      R"({"profile":"4g.20gb","size":4,"memoryMiB":19968,"starts":[0]}]}]})";
  EXPECT_EQ(fit::unit_compute(read(node), "nvidia.com/mig-1g.5gb"), base::MilliGpu{250});
}

}  // namespace
}  // namespace snug::mig_labels_test
