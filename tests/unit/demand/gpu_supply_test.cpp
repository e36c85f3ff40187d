#include "snug/demand/gpu_supply.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "demand/prior.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/demand_tables.hpp"
#include "support/test_objects.hpp"

namespace snug::supply_test {
namespace {

struct Host {
  std::string node;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
};

demand::Supply supply_of_nodes(const std::vector<Host>& hosts) {
  std::vector<model::NodeStatePtr> states;
  for (const Host& host : hosts) {
    if (host.node.empty()) {
      states.push_back(nullptr);
      continue;
    }
    model::NodeInventory node = make_node(host.node);
    node.host = {
        .resources = {host.cpu_milli, host.memory_mib << 20}, .pod_slots = 110, .known = true};
    for (model::GpuInfo& gpu : node.gpus) {
      gpu.model_id = static_cast<std::uint8_t>(gpu.model.front() - 'A' + 1);
    }
    auto state = std::make_shared<model::NodeState>();
    state->inventory = std::make_shared<const model::NodeInventory>(std::move(node));
    states.push_back(std::move(state));
  }
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(states);
  return demand::supply_of(snapshot);
}

/// What a node states has no limit but 64 bits.
TEST(SupplyTest, WhatNoNodeHasDoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const demand::Supply supply =
      supply_of_nodes({{"a: A 40960", kMost, kMost >> 20}, {"b: A 40960", kMost, kMost >> 20}});
  EXPECT_EQ(supply.cpu_milli, 2 * demand::kMaxHostAmount);
  EXPECT_EQ(supply.memory_mib, 2 * demand::kMaxHostAmount);
  for (const auto& [shape, pods] : demand::prior_pods(supply)) {
    EXPECT_GT(shape.host_cpu_milli, 0);
    EXPECT_GT(shape.host_memory_mib, 0);
  }
}

TEST(SupplyTest, CountsTheGpusAndWhatTheirNodesHave) {
  const demand::Supply supply = supply_of_nodes({{"a: A 40960 x4, B 16384 x2", 64'000, 1000},
                                                 {"", 0, 0},
                                                 {"cpu:", 128'000, 9999},
                                                 {"b: B 16384 x3 unhealthy", 32'000, 500}});
  EXPECT_EQ(supply.gpus, 9) << "those that are out of order count";
  EXPECT_EQ(supply.cpu_milli, 96'000) << "nodes without GPUs do not";
  EXPECT_EQ(supply.memory_mib, 1500);
  EXPECT_EQ(supply.gpus_by_model[1], 4);
  EXPECT_EQ(supply.gpus_by_model[2], 5);
  ASSERT_EQ(supply.gpu_sizes.size(), 2U);
  EXPECT_EQ(supply.gpu_sizes[0].memory.value, 16'384);
  EXPECT_EQ(supply.gpu_sizes[0].gpus, 5);
  EXPECT_EQ(supply.gpu_sizes[1].gpus, 4);
  EXPECT_EQ(supply.most_common_memory().value, 16'384);
}

TEST(SupplyTest, OfNoGpusIsNothing) {
  for (const auto& hosts : std::vector<std::vector<Host>>{{}, {{"", 0, 0}}, {{"cpu:", 1000, 1}}}) {
    const demand::Supply supply = supply_of_nodes(hosts);
    EXPECT_EQ(supply.gpus, 0);
    EXPECT_EQ(supply.cpu_milli, 0);
    EXPECT_TRUE(supply.gpu_sizes.empty());
    EXPECT_EQ(supply.most_common_memory().value, 0);
  }
}

TEST(SupplyTest, OfEquallyFrequentSizesTheSmallerIsFirstAndOneOfNothingIsNone) {
  const demand::Supply supply = supply_of_nodes({{"a: A 40960 x2, A 16384 x2, A 0 x5", 1000, 1}});
  ASSERT_EQ(supply.gpu_sizes.size(), 2U);
  EXPECT_EQ(supply.most_common_memory().value, 16'384);
  EXPECT_EQ(supply.gpus, 9);
}

TEST(SupplyTest, OnlyTheMostFrequentSizesAreKept) {
  std::vector<Host> hosts;
  for (std::size_t i = 1; i <= base::kMaxGpuSizes + 3; ++i) {
    hosts.push_back(
        {"n" + std::to_string(i) + ": A " + std::to_string(1000 * i) + " x" + std::to_string(i),
         1000, 1});
  }
  const demand::Supply supply = supply_of_nodes(hosts);
  ASSERT_EQ(supply.gpu_sizes.size(), base::kMaxGpuSizes);
  EXPECT_EQ(supply.gpu_sizes.front().gpus, static_cast<std::int64_t>(base::kMaxGpuSizes) + 3);
  EXPECT_EQ(supply.gpu_sizes.back().gpus, 4);
}

}  // namespace
}  // namespace snug::supply_test
