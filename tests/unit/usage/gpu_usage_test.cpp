#include "snug/usage/gpu_usage.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/node_states.hpp"

namespace snug::gpu_usage_test {
namespace {

TEST(GpuUsageTest, EachGpuHasARowByNodeAndIndex) {
  auto both = make_holding("p", "b", {make_share(0, 4096, 100), make_share(1, 4096, 100)});
  both->reservation.containers.push_back(
      {.name = "side", .assigned = std::vector<model::ReservedDevice>{make_share(0, 1024, 50)}});
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(
      {make_state("b: A100 40960 x2 modes=mps+whole",
                  {both, make_holding("q", "b", {make_share(1, 8192, 200)})}),
       nullptr,
       make_state("a: T4 16384 unhealthy, T4 16384",
                  {make_holding("r", "a", {make_whole_device(0, 16384)})}),
       make_state("c: T4 16384 x2 | nvidia.com/gpu=2", {make_units_holding("u", "c", 1)})});
  using enum model::GpuMode;
  using enum model::GpuClosure;
  const std::vector<usage::GpuUsage> rows = usage::gpu_usage(snapshot, 100);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(
      rows[0],
      (usage::GpuUsage{"a", 0, "GPU-a-0", "T4", {16384}, {16384}, {1000}, 1, kWhole, kUnhealthy}));
  EXPECT_EQ(rows[1],
            (usage::GpuUsage{"a", 1, "GPU-a-1", "T4", {16384}, {0}, {0}, 0, kNone, kOpen}));
  EXPECT_EQ(rows[2].memory_held.value, 5120);
  EXPECT_EQ(rows[2].compute_held.value, 150);
  EXPECT_EQ(rows[2].pods, 1) << "two containers of one pod";
  EXPECT_EQ(rows[3].pods, 2);
  EXPECT_EQ(rows[4].compute_held.value, 1000) << "the kubelet's";
  EXPECT_EQ(rows[5].compute_held.value, 0);
}

TEST(GpuUsageTest, OnlyTheFirstOnesHaveARow) {
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable({make_state("b: T4 16384 x4"), make_state("a: T4 16384 x4")});
  const std::vector<usage::GpuUsage> rows = usage::gpu_usage(snapshot, 5);
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[3].node, "a");
  EXPECT_EQ(rows[4].node, "b");
  EXPECT_EQ(rows[4].index, 0);
  EXPECT_TRUE(usage::gpu_usage(snapshot, 0).empty());
}

TEST(GpuUsageTest, GpusThatVanishedHaveNoRow) {
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(
      {make_state("a: T4 16384", {make_holding("p", "a", {make_share(7, 100, 10)})})});
  EXPECT_EQ(usage::gpu_usage(snapshot, 5).size(), 1U);
}

}  // namespace
}  // namespace snug::gpu_usage_test
