#include "demand/slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shapes.hpp"
#include "snug/mig/catalog.hpp"

namespace snug {
namespace {

MigTablePtr table_named(std::string_view card) { return find_mig_card(card, {})->table; }

Supply supply_with(std::vector<MigTableRef> tables) {
  Supply supply = make_supply({300, 100});
  tables.insert(tables.begin(), MigTableRef{});
  supply.mig_tables = std::make_shared<const std::vector<MigTableRef>>(std::move(tables));
  return supply;
}

PodShape slice_shape(std::string profile, std::int64_t slices = 1) {
  PodShape shape;
  shape.mig_profile = std::move(profile);
  shape.slices = slices;
  return shape;
}

/// In parts of what is asked of the card, by profile.
std::map<std::string, double> parts(const SliceDemand& demand) {
  std::map<std::string, double> parts;
  for (std::size_t i = 0; i < demand.part.size(); ++i) {
    if (demand.part[i] > 0.01) parts[demand.table->profiles[i].name] = demand.part[i];
  }
  return parts;
}

TEST(SliceDemandTest, PodsCountAsTheSlicesThatTheyWouldTake) {
  const Supply supply = supply_with({table_named("A100-40GB"), table_named("A100-80GB")});
  PodShape memory;
  memory.gpus = 1;
  memory.gpu_milli = 1;
  memory.gpu_memory = {3815};
  PodShape half;
  half.gpus = 1;
  half.gpu_milli = 500;
  PodShape whole;
  whole.gpus = 2;
  whole.gpu_milli = 1000;
  const ShapeCounts pods{
      {slice_shape("2g.10gb", 2), 1e6}, {memory, 1e6}, {half, 1e6}, {whole, 1e6}};
  const std::vector<SliceDemand> demands = slice_demand(pods, supply);
  ASSERT_EQ(demands.size(), 3U);
  EXPECT_EQ(demands[0].table, nullptr);
  const std::map<std::string, double> small = parts(demands[1]);
  EXPECT_EQ(small.size(), 3U);
  EXPECT_NEAR(small.at("2g.10gb"), 0.5, 1e-3);
  EXPECT_NEAR(small.at("1g.5gb"), 0.25, 1e-3);
  EXPECT_NEAR(small.at("3g.20gb"), 0.25, 1e-3);
  // The larger card has no 2g.10gb.
  const std::map<std::string, double> large = parts(demands[2]);
  EXPECT_EQ(large.size(), 2U);
  EXPECT_NEAR(large.at("1g.10gb"), 0.5, 1e-3);
  EXPECT_NEAR(large.at("3g.40gb"), 0.5, 1e-3);
}

TEST(SliceDemandTest, BeforeAnyPodEveryPlainProfileIsAskedForAlike) {
  const std::vector<SliceDemand> demands =
      slice_demand({}, supply_with({table_named("RTX-PRO-6000")}));
  ASSERT_EQ(demands.size(), 2U);
  for (std::size_t i = 0; i < demands[1].part.size(); ++i) {
    const bool plain = demands[1].table->profiles[i].plain();
    EXPECT_DOUBLE_EQ(demands[1].part[i], plain ? 1.0 / 3 : 0);
  }
}

/// What is still sold of a card, by the definition and by slices of the axis.
double naive_sold(const SliceDemand& demand, AxisMask taken, double patience) {
  double sum = 0;
  double fitting = 0;
  for (std::size_t p = 0; p < demand.part.size(); ++p) {
    const MigProfile& profile = demand.table->profiles[p];
    double best = -1;
    for (const int start : profile.starts) {
      const AxisMask range = axis_range(start, profile.size);
      if ((taken & range) != 0) continue;
      best = std::max(best, 8.0 * profile.size / demand.table->axis +
                                naive_sold(demand, taken | range, patience));
    }
    if (best < 0) continue;
    sum += demand.part[p] * best;
    fitting += demand.part[p];
  }
  return sum > 0 ? sum / (1 - patience * (1 - fitting)) : 0;
}

TEST(SliceWorthTest, WhatIsStillSoldIsByTheDefinitionWherePodsStay) {
  for (const char* card : {"A30", "RTX-PRO-6000"}) {
    const MigTablePtr table = table_named(card);
    SliceDemand demand{.table = table, .part = std::vector<double>(table->profiles.size())};
    for (std::size_t p = 0; p < demand.part.size(); ++p) {
      demand.part[p] = table->profiles[p].plain() ? 1.0 + static_cast<double>(p) : 0;
    }
    double all = 0;
    for (const double part : demand.part) all += part;
    for (double& part : demand.part) part /= all;
    const SliceWorth worth = slice_worth(demand, 0);
    for (AxisMask taken = 0; taken < (AxisMask{1} << table->axis); ++taken) {
      // A range of which any part is taken is lost.
      AxisMask lost = 0;
      for (const AxisMask cell : worth.cells) lost |= (cell & taken) != 0 ? cell : 0;
      EXPECT_NEAR(worth.of(taken), 1e6 / 8 * naive_sold(demand, lost, 0.98), 1) << card << taken;
    }
  }
}

TEST(SliceWorthTest, CardsHaveAsManyCellsAsTheirPlacementsTellApart) {
  for (const auto& [card, cells] :
       {std::pair{"A100-40GB", 8U}, {"A30", 4U}, {"RTX-PRO-6000", 4U}, {"H200", 8U}}) {
    const std::vector<SliceDemand> demands = slice_demand({}, supply_with({table_named(card)}));
    for (const int churn : {0, 7, 8, Demand::kFullChurn}) {
      const SliceWorth worth = slice_worth(demands[1], churn);
      EXPECT_EQ(worth.cells.size(), cells) << card;
      EXPECT_EQ(worth.worth.size(), std::size_t{1} << cells) << card;
      EXPECT_EQ(worth.of(~AxisMask{0} >> (64 - demands[1].table->axis)) == 0, churn < 8) << card;
    }
  }
}

TEST(SliceWorthTest, ACardDividedTooOftenHasNone) {
  MigProfile small{.name = "1g.1gb", .size = 1, .memory = {1024}, .starts = {}};
  for (int start = 0; start < 13; ++start) small.starts.push_back(start);
  const MigTablePtr table = mig_table_of({small});
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(slice_worth(slice_demand({}, supply_with({table}))[1], 0).known());
  EXPECT_FALSE(slice_worth(SliceDemand{}, 0).known());
}

TEST(SliceWorthTest, WherePodsLeaveMoreOfACardTakenIsNeverWorthMoreOfItsRooms) {
  const std::vector<SliceDemand> demands =
      slice_demand({{slice_shape("7g.40gb"), 100}}, supply_with({table_named("A100-40GB")}));
  const SliceWorth worth = slice_worth(demands[1], Demand::kFullChurn);
  // Almost all ask for the whole card: a slice on an empty one costs more than on a used one.
  const auto loss = [&](AxisMask before, AxisMask after) {
    return worth.of(before) - worth.of(after);
  };
  EXPECT_GT(loss(0, 0b0100'0000), 2 * loss(0b0000'1111, 0b0100'1111));
}

}  // namespace
}  // namespace snug
