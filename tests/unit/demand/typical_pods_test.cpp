#include "snug/demand/typical_pods.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "make_shapes.hpp"
#include "snug/base/limits.hpp"

namespace snug::typical_test {
namespace {

const demand::Supply kSupply = make_supply({10, 20});

std::vector<std::int64_t> cpus(const std::vector<model::TypicalPod>& pods) {
  std::vector<std::int64_t> all;
  for (const model::TypicalPod& pod : pods) all.push_back(pod.cpu_milli);
  return all;
}

std::int64_t shares(const std::vector<model::TypicalPod>& pods) {
  std::int64_t sum = 0;
  for (const model::TypicalPod& pod : pods) sum += pod.share;
  return sum;
}

TEST(TypicalPodsTest, AreTheMostFrequentUntilTheyCoverNearlyAll) {
  const auto one = [](std::int64_t cpu) { return make_shape(1, 500, cpu); };
  struct Row {
    std::string why;
    std::vector<demand::CountedShape> pods;
    std::vector<std::int64_t> cpus;
  };
  for (const Row& row : std::vector<Row>{
           {"none", {}, {}},
           {"one", {{one(1), 3}}, {1}},
           {"95 of 100 are enough", {{one(1), 5}, {one(2), 95}}, {2}},
           {"94 of 100 are not", {{one(1), 6}, {one(2), 94}}, {2, 1}},
           {"equals in the order given", {{one(7), 5}, {one(3), 5}, {one(5), 5}}, {7, 3, 5}},
           {"what is left out is the last of equals",
            {{one(7), 48}, {one(9), 2}, {one(3), 48}, {one(5), 2}},
            {7, 3}}}) {
    const std::vector<model::TypicalPod> typical = demand::typical_pods(row.pods, kSupply);
    EXPECT_EQ(cpus(typical), row.cpus) << row.why;
    if (row.pods.empty()) continue;
    EXPECT_NEAR(static_cast<double>(shares(typical)), model::kFixedPointOne, 4) << row.why;
  }
}

TEST(TypicalPodsTest, TheirPartsAreOfThoseThatAreKept) {
  const auto typical = demand::typical_pods(
      {{make_shape(1, 500, 1), 60}, {make_shape(0, 0, 2), 36}, {make_shape(1, 500, 3), 4}},
      kSupply);
  ASSERT_EQ(typical.size(), 2U);
  EXPECT_NEAR(static_cast<double>(typical[0].share), model::kFixedPointOne * 60.0 / 96, 1);
  EXPECT_NEAR(static_cast<double>(typical[1].share), model::kFixedPointOne * 36.0 / 96, 1);
  EXPECT_EQ(typical[1].gpus, 0) << "pods that ask for no GPU are typical too";
}

TEST(TypicalPodsTest, AreNotToldByTheMemoryOfTheNodeButByEverythingElse) {
  const demand::PodShape base = make_shape(2, 1000, 1000, 512, {"A"});
  std::vector<demand::CountedShape> pods{{base, 1}};
  const auto add = [&](const auto& change) {
    demand::PodShape shape = base;
    change(shape);
    pods.emplace_back(shape, 1);
  };
  add([](demand::PodShape& shape) { shape.host_memory_mib = 9999; });
  add([](demand::PodShape& shape) { shape.host_cpu_milli = 1001; });
  add([](demand::PodShape& shape) { shape.gpus = 1; });
  add([](demand::PodShape& shape) { shape.gpu_milli = 999; });
  add([](demand::PodShape& shape) { shape.included_models = {"B"}; });
  add([](demand::PodShape& shape) { shape.excluded_models = {"B"}; });
  const auto typical = demand::typical_pods(pods, kSupply);
  ASSERT_EQ(typical.size(), pods.size() - 1);
  EXPECT_NEAR(static_cast<double>(typical.front().share), model::kFixedPointOne * 2.0 / 7, 1);
}

TEST(TypicalPodsTest, MemoryOfAGpuIsMeasuredByTheUsualOne) {
  demand::PodShape shape = make_shape(1, 0, 100);
  shape.gpu_memory = {kUsual.value / 4};
  const auto typical = demand::typical_pods({{shape, 1}}, kSupply);
  ASSERT_EQ(typical.size(), 1U);
  EXPECT_EQ(typical[0].gpu_milli, 250);
}

TEST(TypicalPodsTest, TheirNumberHasALimit) {
  std::vector<demand::CountedShape> pods;
  for (std::int64_t i = 0; i < 2 * static_cast<std::int64_t>(base::kMaxTypicalPods); ++i) {
    pods.emplace_back(make_shape(1, 500, i), 1);
  }
  const auto typical = demand::typical_pods(pods, kSupply);
  EXPECT_EQ(typical.size(), base::kMaxTypicalPods);
  EXPECT_NEAR(static_cast<double>(shares(typical)), model::kFixedPointOne, base::kMaxTypicalPods);
}

TEST(TypicalPodsTest, OfRandomPodsAreWhatTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<demand::CountedShape> pods;
    std::vector<double> counts;
    double all = 0;
    const std::int64_t kinds = random.from_to(1, 40);
    for (std::int64_t i = 0; i < kinds; ++i) {
      counts.push_back(static_cast<double>(random.from_to(1, random.one_in(3) ? 400 : 9)));
      pods.emplace_back(make_shape(1, 500, i), counts.back());
      all += counts.back();
    }
    std::ranges::sort(counts, std::ranges::greater{});
    double covered = 0;
    std::size_t needed = 0;
    while (20 * covered < 19 * all) covered += counts[needed++];
    const auto typical = demand::typical_pods(pods, kSupply);
    ASSERT_EQ(typical.size(), needed);
    for (std::size_t i = 0; i < needed; ++i) {
      const auto& count = pods[static_cast<std::size_t>(typical[i].cpu_milli)].second;
      ASSERT_EQ(count, counts[i]);
      ASSERT_NEAR(static_cast<double>(typical[i].share), model::kFixedPointOne * count / covered,
                  1);
    }
  }
}

TEST(ModelsTest, AreThoseThatTheGlobsAllow) {
  struct Row {
    std::vector<std::string> wanted;
    std::vector<std::string> excluded;
    model::ModelSet set;
  };
  for (const Row& row : std::vector<Row>{{{}, {}, model::kAnyModel},
                                         {{"A"}, {}, 0b010},
                                         {{"b"}, {}, 0b100},
                                         {{"A", "B"}, {}, model::kAnyModel},
                                         {{"?"}, {"A"}, 0b100},
                                         {{}, {"A"}, 0b100},
                                         {{"C"}, {}, 0},
                                         {{}, {"*"}, 0}}) {
    demand::PodShape shape = make_shape(1, 500);
    shape.included_models = row.wanted;
    shape.excluded_models = row.excluded;
    EXPECT_EQ(demand::models_of(shape, kSupply), row.set) << testing::PrintToString(row.wanted);
    EXPECT_EQ(demand::models_of(shape, demand::Supply{}), model::kAnyModel) << "no names are known";
  }
}

}  // namespace
}  // namespace snug::typical_test
