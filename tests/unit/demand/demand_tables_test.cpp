#include "snug/demand/demand_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "demand/cutting_stock.hpp"
#include "demand/prior.hpp"
#include "make_shapes.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/typical_pods.hpp"

namespace snug::tables_test {
namespace {

const demand::Supply kSupply = make_supply({300, 100});

double gpus_of(const demand::PodShape& shape, double pods) {
  return pods * static_cast<double>(shape.total_milli(kUsual)) / 1000;
}

double all_gpus(const demand::ShapeCounts& pods) {
  double all = 0;
  for (const auto& [shape, count] : pods) all += gpus_of(shape, count);
  return all;
}

/// What `gpu` milli-GPU lack where a whole one needs `need` of what there is `have` of.
double lacking(double have, double gpu, double need) {
  if (need <= 0) return 0;
  return std::max(0.0, gpu - have * 1000 / need);
}

/// What `have` would feed, of pods that each need `of_one`: lost where that is more than the node
/// `has`, by bins, and of less than a GPU a part.
double lost(double have, double has, double gpu, double need, double of_one, double width) {
  const auto bin_of = [&](double of) {
    return std::min(std::floor(of / width), model::StrandingTable::kBins - 1.0);
  };
  if (need <= 0 || bin_of(of_one) <= std::floor(has / width)) return 0;
  return have * 1000 / need * std::min(1.0, gpu / 1000);
}

struct Ask {
  std::int64_t have = 0;
  std::int64_t has = 0;
  std::int64_t gpu = 0;
  int churn = 0;
  std::int64_t width = 0;  // of the bins
};

struct Between {
  double least = 0;
  double most = 0;
};

/// The sum over the pods, whose needs are known to a bin: by its lower and by its upper end.
/// `what`: what a pod takes of the node.
Between naive_strand(const demand::ShapeCounts& pods, std::int64_t demand::PodShape::* what,
                     const Ask& ask) {
  Between sum;
  const double all = all_gpus(pods);
  const auto have = static_cast<double>(std::max<std::int64_t>(0, ask.have));
  const auto gpu = static_cast<double>(ask.gpu);
  const auto add = [&](double part, double need, double of_one) {
    if (need <= 0) return;
    const double width = static_cast<double>(ask.width);
    const double bin = std::floor(need / width);
    const bool last = bin + 1 >= static_cast<double>(model::StrandingTable::kBins);
    sum.least +=
        part * lacking(have, gpu, std::min(bin, model::StrandingTable::kBins - 1.0) * width);
    sum.most += part * (last ? gpu : lacking(have, gpu, (bin + 1) * width));
    const double none = part * lost(have, static_cast<double>(ask.has), gpu,
                                    std::max(need, width / 25), of_one, width);
    sum.least += none;
    sum.most += none;
  };
  for (const auto& [shape, count] : pods) {
    const double part = gpus_of(shape, count) / all;
    if (part == 0) continue;
    const double of_device = static_cast<double>(shape.*what) / static_cast<double>(shape.gpus);
    const double each = static_cast<double>(shape.milli_per_gpu(kUsual)) / 1000;
    const double churning = static_cast<double>(ask.churn) / model::Demand::kFullChurn;
    add(part * (1 - churning), of_device, of_device);
    add(part * churning, of_device / each, of_device);
  }
  sum.least = std::min(sum.least, gpu);
  return sum;
}

void expect_between(const model::StrandingTable& table, const demand::ShapeCounts& pods,
                    std::int64_t demand::PodShape::* what, const Ask& ask) {
  const double got = static_cast<double>(table.stranded(ask.have, ask.has, ask.gpu)) /
                     static_cast<double>(model::kFixedPointOne);
  const Between expected = naive_strand(pods, what, ask);
  const double rounding = 0.001 * static_cast<double>(ask.gpu) + 0.001;
  EXPECT_GE(got, expected.least - rounding) << ask.have << " for " << ask.gpu;
  EXPECT_LE(got, expected.most + rounding) << ask.have << " for " << ask.gpu;
}

TEST(StrandingTableTest, IsTheSumOverThePodsAsFarAsBinsTell) {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    demand::ShapeCounts pods = draw_counts(random);
    if (random.one_in(2)) pods.merge(demand::prior_pods(kSupply));
    if (all_gpus(pods) == 0) continue;
    const demand::DemandTables tables(pods, kSupply);
    for (const int churn : {0, 5, model::Demand::kFullChurn}) {
      const model::Demand demand = tables.at_churn(churn);
      EXPECT_EQ(demand.churn, churn);
      for (int i = 0; i < 60; ++i) {
        const std::int64_t gpu = random.from_to(1, random.one_in(2) ? 1000 : 16'000);
        const std::int64_t cpu = random.draw(random.one_in(2) ? 200'000 : 20'000);
        const std::int64_t more = random.one_in(2) ? 0 : random.draw(100'000);
        expect_between(demand.cpu, pods, &demand::PodShape::host_cpu_milli,
                       {cpu, cpu + more, gpu, churn, demand::kCpuBinMilli});
        const std::int64_t memory = random.draw(random.one_in(2) ? 2'000'000 : 100'000);
        expect_between(demand.memory, pods, &demand::PodShape::host_memory_mib,
                       {memory, memory + more, gpu, churn, demand::kMemoryBinMib});
      }
    }
  }
}

TEST(StrandingTableTest, LessOfWhatIsNeededAndMoreIdleGpuStrandMore) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::StrandingTable table =
        demand::DemandTables(draw_counts(random), kSupply).at_churn(3).cpu;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t have = random.draw(100'000);
      const std::int64_t gpu = random.from_to(1000, 8000);
      const std::int64_t has = have + random.draw(100'000);
      const std::int64_t rounding = model::kFixedPointOne / 50;
      const std::int64_t here = table.stranded(have, has, gpu);
      ASSERT_GE(here, 0);
      ASSERT_LE(here, gpu * (model::kFixedPointOne + 300)) << "not more than there is";
      const std::int64_t of_bins = here / 250;  // a bin's mean need is not its pods' mean feed
      ASSERT_GE(table.stranded(have - random.draw(have + 1), has, gpu), here - rounding - of_bins);
      ASSERT_GE(table.stranded(have, has - random.draw(has - have + 1), gpu), here - rounding);
      ASSERT_GE(table.stranded(have, has, gpu + random.draw(1000)), here - rounding);
    }
  }
}

TEST(StrandingTableTest, OfOneKindOfPodIsItsNeed) {
  const demand::ShapeCounts pods{{make_shape(1, 500, 2000), 4}};
  const demand::DemandTables tables(pods, kSupply);
  const auto stranded = [&](int churn, std::int64_t have, std::int64_t gpu,
                            std::int64_t has = 8000) {
    return static_cast<double>(tables.at_churn(churn).cpu.stranded(have, has, gpu)) /
           model::kFixedPointOne;
  };
  EXPECT_NEAR(stranded(0, 2000, 1000), 0, 0.1) << "two cores for each GPU of which it has a part";
  EXPECT_NEAR(stranded(0, 1000, 1000), 500, 0.1);
  EXPECT_NEAR(stranded(0, 1000, 1000, 1000), 1000, 0.1) << "such a pod it can never hold";
  EXPECT_NEAR(stranded(0, 1000, 500, 1000), 250, 0.1) << "of half a GPU half of what is fed";
  EXPECT_NEAR(stranded(0, 0, 1000), 1000, 0.1);
  EXPECT_NEAR(stranded(0, -5000, 1000), 1000, 0.1) << "over-committed";
  EXPECT_NEAR(stranded(model::Demand::kFullChurn, 2000, 1000), 500, 0.1) << "four for a whole one";
  EXPECT_NEAR(stranded(model::Demand::kFullChurn / 2, 2000, 1000), 250, 0.1)
      << "half of the pods each";
  EXPECT_EQ(stranded(0, 1000, 0), 0);
  EXPECT_EQ(model::StrandingTable().stranded(0, 0, 8000), 0) << "no demand";
  const demand::DemandTables of_nothing({{make_shape(1, 500), 4}}, kSupply);
  EXPECT_EQ(of_nothing.at_churn(0).cpu.stranded(0, 0, 1000), 0)
      << "what needs none is never short of it";
}

TEST(StrandingTableTest, NeedsThatNoNodeMeetsDoNotOverflow) {
  constexpr std::int64_t kHuge = 1'000'000'000;
  const demand::ShapeCounts pods{{make_shape(1, 1, kHuge, kHuge), 1e6},
                                 {make_shape(8, 1000, kHuge), 1},
                                 {make_shape(1, 1000), 1}};
  for (const int churn : {0, 7, model::Demand::kFullChurn}) {
    const model::Demand demand = demand::DemandTables(pods, kSupply).at_churn(churn);
    for (const std::int64_t have : {std::int64_t{0}, kHuge, INT64_MAX, INT64_MIN}) {
      for (const std::int64_t gpu : {1, 1000, 1'024'000}) {
        for (const model::StrandingTable* table : {&demand.cpu, &demand.memory}) {
          for (const std::int64_t has : {std::int64_t{0}, kHuge, INT64_MAX}) {
            EXPECT_GE(table->stranded(have, has, gpu), 0);
            EXPECT_LE(table->stranded(have, has, gpu), gpu * (model::kFixedPointOne + 300));
          }
        }
      }
    }
  }
}

TEST(PriorPodsTest, AreFewOfRoundSizesAndLeaveCpuAndMemoryToOthers) {
  double all = 0;
  for (const auto& [shape, pods] : demand::prior_pods(kSupply)) {
    all += pods;
    EXPECT_EQ(shape.gpu_milli % 250, 0);
    EXPECT_LE(shape.host_cpu_milli * kSupply.gpus * 1000,
              kSupply.cpu_milli * shape.total_milli(kUsual));
    EXPECT_LE(shape.host_memory_mib * kSupply.gpus * 1000,
              kSupply.memory_mib * shape.total_milli(kUsual));
    EXPECT_FALSE(shape.names_models());
  }
  EXPECT_GT(all, 0);
  EXPECT_LE(all, 50) << "a few hundred real ones outweigh them";
  for (const auto& [shape, pods] : demand::prior_pods(demand::Supply{}))
    EXPECT_EQ(shape.host_cpu_milli, 0);
}

TEST(DemandTablesTest, OfNobodyAreEmpty) {
  demand::PodShape none = make_shape(1, 0);
  for (const demand::ShapeCounts& pods :
       {demand::ShapeCounts{}, demand::ShapeCounts{{make_shape(0, 0, 9), 3}},
        demand::ShapeCounts{{none, 1}}}) {
    const model::Demand demand = demand::DemandTables(pods, kSupply).at_churn(0);
    EXPECT_TRUE(demand.left_over.empty());
    EXPECT_TRUE(demand.multi_gpu_shapes.empty());
    EXPECT_TRUE(demand.typical_pods.empty());
    EXPECT_EQ(demand.scarcity, model::Demand{}.scarcity);
    EXPECT_EQ(demand.cpu.stranded(0, 0, 1000), 0);
    EXPECT_EQ(demand.left_over_for(kUsual), nullptr);
  }
}

TEST(ScarcityTest, IsTheDemandByNameOverThePartThatThereIs) {
  struct Row {
    std::string why;
    demand::ShapeCounts pods;
    double a;  // GPUs asked for by name, of each model
    double b;
  };
  demand::PodShape not_a = make_shape(1, 1000);
  not_a.excluded_models = {"A"};
  const demand::PodShape any = make_shape(1, 1000, 7);
  for (const Row& row : std::vector<Row>{
           {"nobody names a model", {{any, 100}}, 0, 0},
           {"one model", {{any, 100}, {make_shape(1, 1000, 0, 0, {"B"}), 10}}, 0, 10},
           {"shares and several",
            {{make_shape(1, 250, 0, 0, {"B"}), 10}, {make_shape(4, 1000, 0, 0, {"A"}), 2}},
            8,
            2.5},
           {"all that there are", {{make_shape(1, 1000, 0, 0, {"A", "B"}), 10}}, 0, 0},
           {"all but one", {{not_a, 6}}, 0, 6},
           {"one that there is not", {{make_shape(1, 1000, 0, 0, {"X"}), 6}}, 0, 0}}) {
    const model::Demand demand = demand::DemandTables(row.pods, kSupply).at_churn(0);
    const double all = demand::kPriorNamingGpus + all_gpus(row.pods);
    EXPECT_NEAR(static_cast<double>(demand.scarcity[1]) / model::kFixedPointOne,
                (demand::kPriorNamingGpus / 2 + row.a) / all / 0.75, 1e-5)
        << row.why;
    EXPECT_NEAR(static_cast<double>(demand.scarcity[2]) / model::kFixedPointOne,
                (demand::kPriorNamingGpus / 2 + row.b) / all / 0.25, 1e-5)
        << row.why;
    EXPECT_EQ(demand.scarcity[0], 0) << "GPUs without a number";
    EXPECT_EQ(demand.scarcity[3], 0);
  }
}

TEST(ScarcityTest, IsNothingOfModelsThatAreGoneAndWhereThereAreNone) {
  const demand::ShapeCounts pods{{make_shape(1, 1000, 0, 0, {"A"}), 5}};
  EXPECT_EQ(demand::DemandTables(pods, make_supply({0, 10})).at_churn(0).scarcity[1], 0);
  EXPECT_GT(demand::DemandTables(pods, make_supply({0, 10})).at_churn(0).scarcity[2], 0)
      << "thought before all";
  for (const demand::Supply& supply : {demand::Supply{}, make_supply({})}) {
    EXPECT_EQ(demand::DemandTables(pods, supply).at_churn(0).scarcity, model::Demand{}.scarcity);
  }
}

TEST(ScarcityTest, CountsThoseWhoNeedMoreMemoryThanOtherModelsHave) {
  demand::Supply supply = make_supply({300, 100});
  supply.max_memory_by_model[1] = {16'384};
  supply.max_memory_by_model[2] = {81'920};
  const auto asks = [](std::int64_t mebibytes) {
    demand::PodShape shape = make_shape(1, 0);
    shape.gpu_memory = {mebibytes};
    return shape;
  };
  EXPECT_EQ(demand::models_of(asks(16'384), supply), model::kAnyModel);
  EXPECT_EQ(demand::models_of(asks(16'385), supply), model::ModelSet{0b100});
  EXPECT_EQ(demand::models_of(asks(81'921), supply), model::ModelSet{0});
  const model::Demand small = demand::DemandTables({{asks(10'000), 100}}, supply).at_churn(0);
  const model::Demand large = demand::DemandTables({{asks(60'000), 100}}, supply).at_churn(0);
  EXPECT_GT(large.scarcity[2], 2 * small.scarcity[2]);
  EXPECT_LT(large.scarcity[1], model::kFixedPointOne / 2);
}

TEST(MultiGpuShapesTest, AreThePodsWithSeveralGpusTheHeaviestFirst) {
  const demand::ShapeCounts pods{{make_shape(1, 1000, 1), 50},
                                 {make_shape(2, 1000, 2, 20), 5},
                                 {make_shape(8, 1000, 3, 30, {"B"}), 4},
                                 {make_shape(4, 500, 4), 3},
                                 {make_shape(1, 500, 5), 4}};
  const std::vector<model::MultiGpuShape> rooms =
      demand::DemandTables(pods, kSupply).at_churn(0).multi_gpu_shapes;
  ASSERT_EQ(rooms.size(), 2U) << "a share on each of four needs none of them idle";
  const double all = 50 + 10 + 32 + 6 + 2;
  EXPECT_EQ(rooms[0].gpus, 8);
  EXPECT_EQ(rooms[0].cpu_milli, 3);
  EXPECT_EQ(rooms[0].memory_mib, 30);
  EXPECT_EQ(rooms[0].models, model::ModelSet{0b100});
  EXPECT_NEAR(static_cast<double>(rooms[0].share) / model::kFixedPointOne, 32 / all, 1e-5);
  EXPECT_EQ(rooms[1].gpus, 2);
  EXPECT_EQ(rooms[1].models, model::kAnyModel);
  EXPECT_NEAR(static_cast<double>(rooms[1].share) / model::kFixedPointOne, 10 / all, 1e-5);
}

TEST(MultiGpuShapesTest, TheirNumberHasALimit) {
  demand::ShapeCounts pods;
  for (std::int64_t i = 0; i < 3 * static_cast<std::int64_t>(base::kMaxMultiGpuShapes); ++i) {
    pods[make_shape(2, 1000, i)] = static_cast<double>(1 + i);
  }
  const std::vector<model::MultiGpuShape> rooms =
      demand::DemandTables(pods, kSupply).at_churn(0).multi_gpu_shapes;
  ASSERT_EQ(rooms.size(), base::kMaxMultiGpuShapes);
  EXPECT_EQ(rooms.front().cpu_milli, 3 * static_cast<std::int64_t>(base::kMaxMultiGpuShapes) - 1);
  EXPECT_TRUE(std::ranges::is_sorted(rooms, std::ranges::greater{}, &model::MultiGpuShape::share));
}

TEST(LeftOverTableTest, HasTheCuttingStocksPricesAndWhatRoomIsWorthByThem) {
  demand::PodShape by_memory = make_shape(1, 0);
  by_memory.gpu_memory = {8192};
  const demand::ShapeCounts pods{{make_shape(1, 810, 1), 100},
                                 {make_shape(1, 810, 2), 20},
                                 {make_shape(1, 190), 1000},
                                 {make_shape(2, 300), 40},
                                 {by_memory, 70},
                                 {make_shape(1, 1000), 500}};
  demand::Supply supply = kSupply;
  supply.gpu_sizes = {{kUsual, 300}, {base::MebiBytes{16'384}, 100}};
  const model::Demand demand = demand::DemandTables(pods, supply).at_churn(0);
  ASSERT_EQ(demand.left_over.size(), 2U);
  for (const std::int64_t memory : {kUsual.value, std::int64_t{16'384}}) {
    const model::LeftOverTable* table = demand.left_over_for({memory});
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->memory.value, memory);
    const std::vector<demand::ShareDemand> shares = {
        {810, 120}, {190, 1000}, {300, 80}, {8192 * 1000 / memory, 70}};
    double expected = 0;
    double priced = 0;
    const std::vector<double> prices = demand::cutting_stock_prices(shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      expected += shares[i].pods * prices[i];
      priced += shares[i].pods * table->price[static_cast<std::size_t>(shares[i].size)] / 1e6;
    }
    for (const std::size_t other : {100U, 191U, 809U, 999U, 1000U}) {
      EXPECT_EQ(table->price[other], table->value[other]) << "another size is worth its room";
    }
    EXPECT_NEAR(priced, expected, 0.01) << "prices may differ where equally much is gained";
  }
  EXPECT_EQ(demand.left_over_for({999}), demand.left_over_for(kUsual)) << "the usual size";
}

TEST(LeftOverTableTest, ValuesAreWhatRoomsAreWorth) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::Demand demand = demand::DemandTables(draw_counts(random), kSupply).at_churn(0);
    ASSERT_EQ(demand.left_over.size(), 1U);
    const model::LeftOverTable& table = demand.left_over.front();
    EXPECT_EQ(table.value[0], 0);
    EXPECT_LE(table.value[1000], 1'000'002) << "no cut is worth more than a GPU";
    for (std::size_t left = 1; left < model::LeftOverTable::kSizes; ++left) {
      ASSERT_GE(table.value[left], table.value[left - 1]);
      ASSERT_GE(table.price[left], 0);
      ASSERT_LE(table.price[left], table.value[left] + 1) << "a room holds what it has room for";
      const auto part = static_cast<std::size_t>(random.draw(static_cast<std::int64_t>(left) + 1));
      ASSERT_GE(table.value[left] + 3, table.value[part] + table.value[left - part]);
    }
  }
}

}  // namespace
}  // namespace snug::tables_test
