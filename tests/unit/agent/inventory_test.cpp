#include "snug/agent/inventory.hpp"

#include <gtest/gtest.h>

#include "snug/agent_codec/inventory_writer.hpp"
#include "snug/codec/inventory_codec.hpp"

namespace snug::inventory_test {
namespace {

using agent::DeviceReport;
using agent::InventorySettings;
using agent::NodeDevices;
using model::GpuMode;

DeviceReport a100(int index) {
  return {.index = index,
          .uuid = "GPU-" + std::to_string(index),
          .model = "NVIDIA-A100-SXM4-40GB",
          .memory = {40960},
          .minor = index,
          .pci_bus = "0000:3b:00.0",
          .numa_node = 1};
}

DeviceReport partitioned(int index) {
  DeviceReport gpu = a100(index);
  gpu.mig_enabled = true;
  gpu.mig_profiles = {{"1g.5gb", 1, {4864}, {0, 1, 2, 3, 4, 5, 6}},
                      {"3g.20gb", 4, {19968}, {0, 4}}};
  gpu.mig_slices = {{"MIG-a", "1g.5gb", 2, 1, 7, 0}, {"MIG-b", "3g.20gb", 4, 4, 1, 0}};
  return gpu;
}

InventorySettings settings() {
  return {.boot_id = "boot-1", .modes = {GpuMode::kWhole, GpuMode::kMps}, .dynamic_mig = true};
}

std::string text_of(NodeDevices devices, InventorySettings with = settings()) {
  return agent_codec::write_inventory(agent::make_inventory(std::move(devices), std::move(with)));
}

model::NodeInventory read_back(const std::string& text) {
  model::NodeFacts node{.name = "n1", .boot_id = "boot-1"};
  node.annotations["snug.dev/inventory"] = text;
  return codec::read_inventory(node, base::Limits{});
}

TEST(InventoryTest, IsWrittenWithItsKeysInOrder) {
  DeviceReport unknown_numa = a100(2);
  unknown_numa.numa_node = -1;
  unknown_numa.healthy = false;
  const NodeDevices devices{"615", {partitioned(0), unknown_numa}, {{0, 12}, {12, 0}}};
  InventorySettings with = settings();
  with.enforcement = model::Enforcement::kFailClosed;
  EXPECT_EQ(
      text_of(devices, with),
      R"({"version":1,"bootID":"boot-1","dynamicMig":true,"enforcement":"fail-closed","limits":"none","gpus":[)"
      R"({"index":0,"uuid":"GPU-0","model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960,"healthy":true,"numa":1,"modes":["whole","mps"],"mig":true,)"
      R"("migInstances":[{"profile":"1g.5gb","start":2,"size":1,"uuid":"MIG-a"},{"profile":"3g.20gb","start":4,"size":4,"uuid":"MIG-b"}],)"
      R"("migProfiles":[{"profile":"1g.5gb","size":1,"memoryMiB":4864,"starts":[0,1,2,3,4,5,6]},{"profile":"3g.20gb","size":4,"memoryMiB":19968,"starts":[0,4]}]},)"
      R"({"index":2,"uuid":"GPU-2","model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960,"healthy":false,"modes":["whole","mps"],"mig":false}],)"
      R"("links":[[0,12],[12,0]]})");
}

TEST(InventoryTest, AGpuWhoseMpsDaemonFailedIsNotHealthyAndKeepsItsModes) {
  agent::Inventory inventory = agent::make_inventory({"615", {a100(0), a100(1)}, {}}, settings());
  inventory.mps_failures = {{"GPU-1", "exited with 1"}, {"GPU-7", "is not on this node"}};
  const std::string text = agent_codec::write_inventory(inventory);
  EXPECT_NE(text.find(R"("modes":["whole","mps"],"mps":"failed: exited with 1","mig":false})"),
            std::string::npos)
      << text;
  const model::NodeInventory read = read_back(text);
  EXPECT_EQ(read.closed_message, "");
  EXPECT_TRUE(read.gpus[0].healthy);
  EXPECT_FALSE(read.gpus[1].healthy);
  EXPECT_EQ(read.gpus[1].allowed_modes, (std::vector{GpuMode::kWhole, GpuMode::kMps}));
}

TEST(InventoryTest, OfANodeWithoutDriverHasNoGpus) {
  EXPECT_EQ(text_of({}, {}),
            R"({"version":1,"dynamicMig":false,"enforcement":"open","limits":"none","gpus":[]})");
}

TEST(InventoryTest, IsReadBackBySnug) {
  DeviceReport unhealthy = a100(5);
  unhealthy.healthy = false;
  unhealthy.numa_node = -1;
  const NodeDevices devices{
      "615", {a100(0), partitioned(3), unhealthy}, {{0, 4, 0}, {4, 0, 12}, {0, 12, 0}}};
  const model::NodeInventory inventory = read_back(text_of(devices));
  ASSERT_EQ(inventory.closed_message, "");
  EXPECT_TRUE(inventory.dynamic_mig);
  EXPECT_EQ(inventory.nvlinks, devices.nvlinks);
  ASSERT_EQ(inventory.gpus.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const model::GpuInfo& gpu = inventory.gpus[i];
    const DeviceReport& report = devices.gpus[i];
    EXPECT_EQ(gpu.index, report.index);
    EXPECT_EQ(gpu.uuid, report.uuid);
    EXPECT_EQ(gpu.model, report.model);
    EXPECT_EQ(gpu.memory, report.memory);
    EXPECT_EQ(gpu.healthy, report.healthy);
    EXPECT_EQ(gpu.numa_node, report.numa_node);
    EXPECT_EQ(gpu.mig_enabled, report.mig_enabled);
    EXPECT_EQ(gpu.allowed_modes, settings().modes);
  }
  const model::GpuInfo& card = inventory.gpus[1];
  EXPECT_EQ(card.mig_instances,
            (std::vector<model::Slice>{{"1g.5gb", 2, 1, "MIG-a"}, {"3g.20gb", 4, 4, "MIG-b"}}));
  ASSERT_TRUE(card.mig_table);
  ASSERT_EQ(card.mig_table->profiles.size(), 2U);
  EXPECT_EQ(card.mig_table->profiles[1].starts, (std::vector<int>{0, 4}));
}

TEST(InventoryTest, TellsSnugWhichSlicesCouldNotBeMade) {
  std::vector<agent::SliceFailure> failures = {{"GPU-0", "3g.20gb", 0, "u-1", "why"},
                                               {"GPU-9", "1g.5gb", 1, "u-2", "why"}};
  const auto text_with = [](const std::vector<agent::SliceFailure>& these) {
    return agent_codec::write_inventory(
        agent::make_inventory({"615", {partitioned(0)}, {}}, settings(), these));
  };
  const std::string text = text_with(failures);
  EXPECT_TRUE(
      text.ends_with(R"("migFailures":[{"gpu":"GPU-0","profile":"3g.20gb","start":0,"pod":"u-1"},)"
                     R"({"gpu":"GPU-9","profile":"1g.5gb","start":1,"pod":"u-2"}]})"))
      << text;
  EXPECT_EQ(read_back(text).closed_message, "");
  EXPECT_EQ(read_back(text).gpus.at(0).failed_memory_slices, 0b1111U);
  EXPECT_EQ(read_back(text_with({})).gpus.at(0).failed_memory_slices, 0U);
  failures.resize(1000, failures[0]);
  EXPECT_EQ(agent::make_inventory({}, {}, failures).mig_failures.size(), 256U);
}

TEST(InventoryTest, LeavesOutASliceThatOverlapsAnother) {
  DeviceReport gpu = partitioned(0);
  gpu.mig_slices.push_back({"MIG-c", "1g.5gb", 5, 1, 8, 0});
  const model::NodeInventory inventory = read_back(text_of({"615", {gpu}, {}}));
  EXPECT_EQ(inventory.closed_message, "");
  EXPECT_EQ(inventory.gpus.at(0).mig_instances.size(), 2U);
}

TEST(InventoryTest, TextsOfTheDriverThatAreNotUtf8AreWrittenAsJson) {
  DeviceReport gpu = a100(0);
  gpu.model = "A\xFF\"";
  const std::string text = text_of({"615", {gpu}, {}});
  EXPECT_NE(text.find("\"model\":\"A\uFFFD\\\"\""), std::string::npos) << text;
}

}  // namespace
}  // namespace snug::inventory_test
