#include "snug/ledger/totals.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace snug::totals_test {
namespace {

TEST(TotalsTest, NodesGpusAndHoldingsAreAddedUp) {
  const ManualClock clock;
  Ledger ledger(clock, Limits{});
  NodeInventory inventory;
  inventory.name = "n1";
  for (const bool healthy : {true, false}) {
    GpuInfo gpu;
    gpu.index = healthy ? 0 : 1;
    gpu.memory = {40960};
    gpu.healthy = healthy;
    gpu.modes = {GpuMode::kMps};
    inventory.gpus.push_back(gpu);
  }
  ledger.put_node(inventory);
  Holding holding;
  holding.uid = "u1";
  holding.reservation = {
      "u1",
      "n1",
      {{"main", "", std::vector<ReservedDevice>{{0, "", GpuMode::kMps, {1000}, {250}, {}}}}}};
  (void)ledger.hold(std::make_shared<Holding>(holding));
  const LedgerTotals totals = totals_of(ledger);
  EXPECT_EQ(totals.nodes, 1);
  EXPECT_EQ(totals.nodes_in_conflict, 0);
  EXPECT_EQ(totals.gpus, 2);
  EXPECT_EQ(totals.memory_capacity, MebiBytes{81920});
  EXPECT_EQ(totals.memory_used, MebiBytes{1000});
  EXPECT_EQ(totals.gpus_closed, (std::map<GpuClosure, std::int64_t>{{GpuClosure::kUnhealthy, 1}}));
  EXPECT_EQ(totals.holdings, (std::map<HoldingState, std::int64_t>{{HoldingState::kBound, 1}}));
}

TEST(TotalsTest, ANodeWithMoreUnitsTakenThanItHasIsInConflict) {
  const ManualClock clock;
  Ledger ledger(clock, Limits{});
  for (const char* name : {"n1", "n2"}) {
    NodeInventory inventory;
    inventory.name = name;
    ledger.put_node(inventory);
  }
  Holding holding;
  holding.uid = "u1";
  holding.reservation = {"u1", "n1", {{"main", "", KubeletUnits{"nvidia.com/gpu", 1}}}};
  (void)ledger.hold(std::make_shared<Holding>(holding));
  EXPECT_EQ(totals_of(ledger).nodes, 2);
  EXPECT_EQ(totals_of(ledger).nodes_in_conflict, 1);
}

}  // namespace
}  // namespace snug::totals_test
