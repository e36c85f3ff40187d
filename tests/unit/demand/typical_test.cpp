#include "snug/demand/typical.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "shapes.hpp"
#include "snug/base/limits.hpp"

namespace snug::typical_test {
namespace {

const Supply kSupply = make_supply({10, 20});

std::vector<std::int64_t> cpus(const std::vector<TypicalPod>& pods) {
  std::vector<std::int64_t> all;
  for (const TypicalPod& pod : pods) all.push_back(pod.cpu_milli);
  return all;
}

std::int64_t shares(const std::vector<TypicalPod>& pods) {
  std::int64_t sum = 0;
  for (const TypicalPod& pod : pods) sum += pod.share;
  return sum;
}

TEST(TypicalPodsTest, AreTheMostFrequentUntilTheyCoverNearlyAll) {
  const auto one = [](std::int64_t cpu) { return make_shape(1, 500, cpu); };
  struct Row {
    std::string why;
    std::vector<CountedShape> pods;
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
    const std::vector<TypicalPod> typical = typical_pods(row.pods, kSupply);
    EXPECT_EQ(cpus(typical), row.cpus) << row.why;
    if (row.pods.empty()) continue;
    EXPECT_NEAR(static_cast<double>(shares(typical)), kOne, 4) << row.why;
  }
}

TEST(TypicalPodsTest, TheirPartsAreOfThoseThatAreKept) {
  const auto typical = typical_pods(
      {{make_shape(1, 500, 1), 60}, {make_shape(0, 0, 2), 36}, {make_shape(1, 500, 3), 4}},
      kSupply);
  ASSERT_EQ(typical.size(), 2U);
  EXPECT_NEAR(static_cast<double>(typical[0].share), kOne * 60.0 / 96, 1);
  EXPECT_NEAR(static_cast<double>(typical[1].share), kOne * 36.0 / 96, 1);
  EXPECT_EQ(typical[1].gpus, 0) << "pods that ask for no GPU are typical too";
}

TEST(TypicalPodsTest, AreNotToldByTheMemoryOfTheNodeButByEverythingElse) {
  const PodShape base = make_shape(2, 1000, 1000, 512, {"A"});
  std::vector<CountedShape> pods{{base, 1}};
  const auto add = [&](const auto& change) {
    PodShape shape = base;
    change(shape);
    pods.emplace_back(shape, 1);
  };
  add([](PodShape& shape) { shape.memory_mib = 9999; });
  add([](PodShape& shape) { shape.cpu_milli = 1001; });
  add([](PodShape& shape) { shape.gpus = 1; });
  add([](PodShape& shape) { shape.gpu_milli = 999; });
  add([](PodShape& shape) { shape.wanted = {"B"}; });
  add([](PodShape& shape) { shape.excluded = {"B"}; });
  const auto typical = typical_pods(pods, kSupply);
  ASSERT_EQ(typical.size(), pods.size() - 1);
  EXPECT_NEAR(static_cast<double>(typical.front().share), kOne * 2.0 / 7, 1);
}

TEST(TypicalPodsTest, MemoryOfAGpuIsMeasuredByTheUsualOne) {
  PodShape shape = make_shape(1, 0, 100);
  shape.gpu_memory = {kUsual.value / 4};
  const auto typical = typical_pods({{shape, 1}}, kSupply);
  ASSERT_EQ(typical.size(), 1U);
  EXPECT_EQ(typical[0].gpu_milli, 250);
}

TEST(TypicalPodsTest, TheirNumberHasALimit) {
  std::vector<CountedShape> pods;
  for (std::int64_t i = 0; i < 2 * static_cast<std::int64_t>(kMostTypicalPods); ++i) {
    pods.emplace_back(make_shape(1, 500, i), 1);
  }
  const auto typical = typical_pods(pods, kSupply);
  EXPECT_EQ(typical.size(), kMostTypicalPods);
  EXPECT_NEAR(static_cast<double>(shares(typical)), kOne, kMostTypicalPods);
}

TEST(TypicalPodsTest, OfRandomPodsAreWhatTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<CountedShape> pods;
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
    const auto typical = typical_pods(pods, kSupply);
    ASSERT_EQ(typical.size(), needed);
    for (std::size_t i = 0; i < needed; ++i) {
      const auto& count = pods[static_cast<std::size_t>(typical[i].cpu_milli)].second;
      ASSERT_EQ(count, counts[i]);
      ASSERT_NEAR(static_cast<double>(typical[i].share), kOne * count / covered, 1);
    }
  }
}

TEST(ModelsTest, AreThoseThatTheGlobsAllow) {
  struct Row {
    std::vector<std::string> wanted;
    std::vector<std::string> excluded;
    ModelSet set;
  };
  for (const Row& row : std::vector<Row>{{{}, {}, kAnyModel},
                                         {{"A"}, {}, 0b010},
                                         {{"b"}, {}, 0b100},
                                         {{"A", "B"}, {}, kAnyModel},
                                         {{"?"}, {"A"}, 0b100},
                                         {{}, {"A"}, 0b100},
                                         {{"C"}, {}, 0},
                                         {{}, {"*"}, 0}}) {
    PodShape shape = make_shape(1, 500);
    shape.wanted = row.wanted;
    shape.excluded = row.excluded;
    EXPECT_EQ(models_of(shape, kSupply), row.set) << testing::PrintToString(row.wanted);
    EXPECT_EQ(models_of(shape, Supply{}), kAnyModel) << "no names are known";
  }
}

}  // namespace
}  // namespace snug::typical_test
