#include "snug/ledger/totals.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace snug::totals_test {
namespace {

TEST(TotalsTest, NodesGpusAndHoldingsAreAddedUp) {
  const base::ManualClock clock;
  ledger::Ledger ledger(clock, base::Limits{});
  model::NodeInventory inventory;
  inventory.name = "n1";
  for (const bool healthy : {true, false}) {
    model::GpuInfo gpu;
    gpu.index = healthy ? 0 : 1;
    gpu.memory = {40960};
    gpu.healthy = healthy;
    gpu.allowed_modes = {model::GpuMode::kMps};
    inventory.gpus.push_back(gpu);
  }
  ledger.put_node(inventory);
  model::Holding holding;
  holding.uid = "u1";
  holding.reservation = {
      "u1",
      "n1",
      {{"main", "",
        std::vector<model::ReservedDevice>{{0, "", model::GpuMode::kMps, {1000}, {250}, {}}}}}};
  (void)ledger.hold(std::make_shared<model::Holding>(holding));
  const ledger::LedgerTotals totals = ledger::totals_of(ledger);
  EXPECT_EQ(totals.nodes, 1);
  EXPECT_EQ(totals.nodes_in_conflict, 0);
  EXPECT_EQ(totals.gpus, 2);
  EXPECT_EQ(totals.memory_capacity, base::MebiBytes{81920});
  EXPECT_EQ(totals.memory_used, base::MebiBytes{1000});
  EXPECT_EQ(totals.gpus_closed,
            (std::map<model::GpuClosure, std::int64_t>{{model::GpuClosure::kUnhealthy, 1}}));
  EXPECT_EQ(totals.holdings,
            (std::map<ledger::HoldingState, std::int64_t>{{ledger::HoldingState::kBound, 1}}));
}

TEST(TotalsTest, ANodeWithMoreUnitsTakenThanItHasIsInConflict) {
  const base::ManualClock clock;
  ledger::Ledger ledger(clock, base::Limits{});
  for (const char* name : {"n1", "n2"}) {
    model::NodeInventory inventory;
    inventory.name = name;
    ledger.put_node(inventory);
  }
  model::Holding holding;
  holding.uid = "u1";
  holding.reservation = {"u1", "n1", {{"main", "", model::KubeletUnits{"nvidia.com/gpu", 1}}}};
  (void)ledger.hold(std::make_shared<model::Holding>(holding));
  EXPECT_EQ(ledger::totals_of(ledger).nodes, 2);
  EXPECT_EQ(ledger::totals_of(ledger).nodes_in_conflict, 1);
}

}  // namespace
}  // namespace snug::totals_test
