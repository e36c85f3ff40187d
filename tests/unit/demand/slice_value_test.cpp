#include "demand/slice_value.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "make_shapes.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::slice_value_test {
namespace {

model::MigTablePtr table_named(std::string_view card) {
  return mig::find_mig_card(card, {})->table;
}

demand::Supply supply_with(std::vector<model::MigTableRef> tables) {
  demand::Supply supply = make_supply({300, 100});
  tables.insert(tables.begin(), model::MigTableRef{});
  for (std::size_t i = 1; i < tables.size(); ++i) supply.gpus_by_mig_table[i] = 1;
  supply.mig_tables = std::make_shared<const std::vector<model::MigTableRef>>(std::move(tables));
  return supply;
}

demand::PodShape slice_shape(std::string profile, std::int64_t slices = 1) {
  demand::PodShape shape;
  shape.mig_profile = std::move(profile);
  shape.slice_count = slices;
  return shape;
}

/// In parts of what is asked of the card, by profile.
std::map<std::string, double> parts(const demand::SliceDemand& demand) {
  std::map<std::string, double> parts;
  for (std::size_t i = 0; i < demand.share_by_profile.size(); ++i) {
    if (demand.share_by_profile[i] > 0.01)
      parts[demand.table->profiles[i].name] = demand.share_by_profile[i];
  }
  return parts;
}

TEST(SliceDemandTest, PodsCountAsTheSlicesThatTheyWouldTake) {
  const demand::Supply supply = supply_with({table_named("A100-40GB"), table_named("A100-80GB")});
  demand::PodShape memory;
  memory.gpus = 1;
  memory.gpu_milli = 1;
  memory.gpu_memory = {3815};
  demand::PodShape half;
  half.gpus = 1;
  half.gpu_milli = 500;
  demand::PodShape whole;
  whole.gpus = 2;
  whole.gpu_milli = 1000;
  const demand::ShapeCounts pods{
      {slice_shape("2g.10gb", 2), 1e6}, {memory, 1e6}, {half, 1e6}, {whole, 1e6}};
  const std::vector<demand::SliceDemand> demands = demand::slice_demand(pods, supply);
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
  const std::vector<demand::SliceDemand> demands =
      demand::slice_demand({}, supply_with({table_named("RTX-PRO-6000")}));
  ASSERT_EQ(demands.size(), 2U);
  for (std::size_t i = 0; i < demands[1].share_by_profile.size(); ++i) {
    const bool plain = demands[1].table->profiles[i].is_plain();
    EXPECT_DOUBLE_EQ(demands[1].share_by_profile[i], plain ? 1.0 / 3 : 0);
  }
}

TEST(SliceDemandTest, FewCardsArePatientWithFewPodsAndLearnSlowly) {
  struct Row {
    std::int64_t cards;
    double pods;
    double other_card;
    double prior_weight;
  };
  // Six plain profiles are thought to have come before all others.
  for (const Row& row : {Row{1, 0, 0.362719, 0.891184},
                         {1, 12, 0.362719, 0.673553},
                         {4, 12, 0.648688, 0.416181},
                         {500, 0, 0.982409, 0.705277},
                         {500, 12, 0.982409, 0.115832},
                         {500, 15, 0.982409, 0}}) {
    demand::Supply supply = supply_with({table_named("A100-40GB")});
    supply.gpus_by_mig_table[1] = row.cards;
    const demand::SliceDemand demand =
        demand::slice_demand({{slice_shape("1g.5gb"), row.pods}}, supply)[1];
    EXPECT_NEAR(demand.other_card, row.other_card, 1e-4) << row.cards;
    EXPECT_NEAR(demand.prior_weight, row.prior_weight, 1e-4) << row.cards << " " << row.pods;
  }
}

/// How many slices of a profile an empty card has at once: as many as its starts lie apart.
int most_apart(const model::MigProfile& profile) {
  int count = 0;
  int end = 0;
  for (const int start : profile.starts) {
    if (start < end) continue;
    ++count;
    end = start + profile.size;
  }
  return profile.name.find("+me") == std::string::npos ? count : 1;
}

/// What is still sold of a card, by the definition and by slices of the axis.
double naive_sold(const demand::SliceDemand& demand, model::AxisMask taken, double other_card) {
  double sum = 0;
  double passing = 0;
  double mean = 0;
  for (std::size_t p = 0; p < demand.share_by_profile.size(); ++p) {
    mean += demand.share_by_profile[p] * 8.0 * demand.table->profiles[p].size /
            demand.table->memory_slices;
  }
  for (std::size_t p = 0; p < demand.share_by_profile.size(); ++p) {
    const model::MigProfile& profile = demand.table->profiles[p];
    double best = -1;
    for (const int start : profile.starts) {
      const model::AxisMask range = model::axis_range(start, profile.size);
      if ((taken & range) != 0) continue;
      best = std::max(best, 8.0 * profile.size / demand.table->memory_slices +
                                naive_sold(demand, taken | range, other_card));
    }
    if (best >= 0) sum += demand.share_by_profile[p] * best;
    if (best >= 0 || demand.share_by_profile[p] <= 0) continue;
    const double asked = 8 * demand.share_by_profile[p] / mean;
    const double had = most_apart(profile) < asked ? most_apart(profile) / asked : 1;
    passing += other_card * demand.share_by_profile[p] * had * had;
  }
  return sum > 0 ? sum / (1 - passing) : 0;
}

TEST(SliceValueTableTest, WhatIsStillSoldIsByTheDefinitionWherePodsStay) {
  for (const char* card : {"A30", "RTX-PRO-6000"}) {
    const model::MigTablePtr table = table_named(card);
    demand::SliceDemand demand{.table = table,
                               .share_by_profile = std::vector<double>(table->profiles.size())};
    for (std::size_t p = 0; p < demand.share_by_profile.size(); ++p) {
      demand.share_by_profile[p] = table->profiles[p].is_plain() ? 1.0 + static_cast<double>(p) : 0;
    }
    double all = 0;
    for (const double part : demand.share_by_profile) all += part;
    for (double& part : demand.share_by_profile) part /= all;
    for (const double other_card : {0.0, 0.5, 0.98}) {
      demand.other_card = other_card;
      const model::SliceValueTable values =
          demand::make_slice_value_table(demand, demand::Regime::kFilling);
      for (model::AxisMask taken = 0; taken < (model::AxisMask{1} << table->memory_slices);
           ++taken) {
        // A range of which any part is taken is lost.
        model::AxisMask lost = 0;
        for (const model::AxisMask cell : values.cells) lost |= (cell & taken) != 0 ? cell : 0;
        EXPECT_NEAR(values.value_of(taken), 1e6 / 8 * naive_sold(demand, lost, other_card), 1)
            << card << taken;
      }
    }
  }
}

TEST(SliceValueTableTest, WhatMoreIsAskedForThanCardsCanHaveIsNotWaitedFor) {
  const model::MigTablePtr table = table_named("A100-40GB");
  const auto demand_of = [&](double small, double large) {
    demand::SliceDemand demand{.table = table,
                               .share_by_profile = std::vector<double>(table->profiles.size())};
    demand.share_by_profile[table->find_profile("1g.5gb").value()] = small;
    demand.share_by_profile[table->find_profile("3g.20gb").value()] = 0.1;
    demand.share_by_profile[table->find_profile("2g.10gb").value()] = 0.9 - small - large;
    demand.share_by_profile[table->find_profile("4g.20gb").value()] = large;
    demand.other_card = 0.98;
    return demand;
  };
  const auto keeps_half = [&](const demand::SliceDemand& demand) {
    const model::SliceValueTable values =
        demand::make_slice_value_table(demand, demand::Regime::kFilling);
    return values.value_of(model::axis_range(6, 1)) > values.value_of(model::axis_range(3, 1));
  };
  // One card has one 4g.20gb: two thirds of the slices that are asked for are too many of them.
  EXPECT_TRUE(keeps_half(demand_of(0.2, 0.5)));
  for (const double large : {0.1, 0.5, 0.7}) {
    const demand::SliceDemand demand = demand_of(0.2, large);
    const model::SliceValueTable values =
        demand::make_slice_value_table(demand, demand::Regime::kFilling);
    for (model::AxisMask taken = 0; taken < 256; ++taken) {
      EXPECT_NEAR(values.value_of(taken), 1e6 / 8 * naive_sold(demand, taken, 0.98), 1) << taken;
    }
  }
}

TEST(SliceValueTableTest, CardsHaveAsManyCellsAsTheirPlacementsTellApart) {
  for (const auto& [card, cells] :
       {std::pair{"A100-40GB", 8U}, {"A30", 4U}, {"RTX-PRO-6000", 4U}, {"H200", 8U}}) {
    const std::vector<demand::SliceDemand> demands =
        demand::slice_demand({}, supply_with({table_named(card)}));
    for (const demand::Regime regime : {demand::Regime::kFilling, demand::Regime::kChurning}) {
      const model::SliceValueTable values = demand::make_slice_value_table(demands[1], regime);
      EXPECT_EQ(values.cells.size(), cells) << card;
      EXPECT_EQ(values.value_by_state.size(), std::size_t{1} << cells) << card;
      EXPECT_EQ(values.value_of(~model::AxisMask{0} >> (64 - demands[1].table->memory_slices)) == 0,
                regime == demand::Regime::kFilling)
          << card;
    }
  }
}

TEST(SliceValueTableTest, ACardDividedTooOftenHasNone) {
  model::MigProfile small{.name = "1g.1gb", .size = 1, .memory = {1024}, .starts = {}};
  for (int start = 0; start < 9; ++start) small.starts.push_back(start);
  const model::MigTablePtr table = mig::build_mig_table({small});
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(demand::make_slice_value_table(demand::slice_demand({}, supply_with({table}))[1],
                                              demand::Regime::kFilling)
                   .known());
  EXPECT_FALSE(
      demand::make_slice_value_table(demand::SliceDemand{}, demand::Regime::kFilling).known());
}

/// The sum over j of fade^(the least eighths that must come free for j rooms of a profile at once),
/// by all sets of rooms.
double naive_rooms(const model::MigTable& table, const model::MigProfile& profile,
                   model::AxisMask taken) {
  std::map<int, double> least;
  for (std::size_t set = 1; set < (std::size_t{1} << profile.starts.size()); ++set) {
    model::AxisMask rooms = 0;
    bool apart = true;
    int count = 0;
    for (std::size_t i = 0; i < profile.starts.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      const model::AxisMask room = model::axis_range(profile.starts[i], profile.size);
      apart = apart && (rooms & room) == 0;
      rooms |= room;
      ++count;
    }
    if (!apart) continue;
    const double freed = 8.0 * std::popcount(rooms & taken) / table.memory_slices;
    const auto [known, is_new] = least.emplace(count, freed);
    if (!is_new) known->second = std::min(known->second, freed);
  }
  double sum = 0;
  for (const auto& [count, freed] : least) sum += std::pow(0.6, freed);
  return sum;
}

TEST(SliceValueTableTest, WherePodsLeaveRoomsAndWhatIsTakenCountAsDefined) {
  for (const char* card : {"A100-40GB", "A30"}) {
    const model::MigTablePtr table = table_named(card);
    demand::SliceDemand demand{.table = table,
                               .share_by_profile = std::vector<double>(table->profiles.size())};
    demand.share_by_profile[0] = 0.5;                                   // the smallest
    demand.share_by_profile[demand.share_by_profile.size() - 1] = 0.5;  // the whole card
    double mean = 0;
    for (std::size_t p = 0; p < demand.share_by_profile.size(); ++p) {
      mean += demand.share_by_profile[p] * 8.0 * table->profiles[p].size / table->memory_slices;
    }
    demand.other_card = std::string_view(card) == "A30" ? 0.7 : 0.98;
    const model::SliceValueTable values =
        demand::make_slice_value_table(demand, demand::Regime::kChurning);
    for (model::AxisMask taken = 0; taken < (model::AxisMask{1} << table->memory_slices); ++taken) {
      double expected = naive_sold(demand, taken, std::min(demand.other_card, 0.9));
      for (std::size_t p = 0; p < demand.share_by_profile.size(); ++p) {
        const double size = 8.0 * table->profiles[p].size / table->memory_slices;
        expected += 0.4 * demand.share_by_profile[p] * size * size / mean *
                    naive_rooms(*table, table->profiles[p], taken);
      }
      const double used = 8.0 * std::popcount(taken) / table->memory_slices;
      expected += 0.06 * used * used;
      EXPECT_NEAR(values.value_of(taken), 1e6 / 8 * expected, 1) << card << " " << taken;
    }
  }
}

}  // namespace
}  // namespace snug::slice_value_test
