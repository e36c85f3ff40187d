#include "snug/demand/demand_learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "demand/prior.hpp"
#include "make_shapes.hpp"
#include "snug/base/limits.hpp"

namespace snug::learner_test {
namespace {

const demand::Supply kSupply = make_supply({300, 100});

/// What a learner says that has counted these.
void expect_counted(demand::DemandLearner& learner, const demand::ShapeCounts& counted,
                    double came = 0) {
  double pods = 0;
  for (const auto& [shape, count] : counted) pods += count;
  const double doubt = demand::prior_weight_after(std::max(came, pods));
  demand::ShapeCounts all = counted;
  for (const auto& [shape, count] : demand::prior_pods(kSupply)) all[shape] += doubt * count;
  learner.build_tables(kSupply);
  expect_same(learner.demand(),
              demand::DemandTables(all, kSupply, doubt).at_churn(learner.churn()));
}

TEST(DemandLearnerTest, BeforeAnythingHasComeItKnowsTheGenericPods) {
  demand::DemandLearner learner;
  EXPECT_EQ(learner.churn(), 0);
  EXPECT_TRUE(learner.demand().typical_pods.empty()) << "tables have not been made";
  expect_counted(learner, {});
}

TEST(DemandLearnerTest, EveryPodCountsOnceByItsUid) {
  demand::DemandLearner learner;
  const demand::PodShape shape = make_shape(1, 300, 5000, 4096);
  for (int i = 0; i < 5; ++i) learner.pod_arrived("a", shape, kSupply);
  learner.pod_was_present("a", shape);
  learner.pod_arrived("b", make_shape(2, 1000, 1), kSupply);
  learner.pod_placed("a");
  learner.pod_arrived("a", make_shape(8, 1000), kSupply);
  EXPECT_TRUE(learner.knows("a"));
  EXPECT_FALSE(learner.knows("c"));
  expect_counted(learner, {{shape, 1}, {make_shape(2, 1000, 1), 1}});
}

TEST(DemandLearnerTest, APodThatComesBackWhenItIsGoneIsAnother) {
  demand::DemandLearner learner;
  const demand::PodShape shape = make_shape(1, 300);
  learner.pod_arrived("a", shape, kSupply);
  learner.pod_left("a", kSupply);
  EXPECT_FALSE(learner.knows("a"));
  learner.pod_arrived("a", shape, kSupply);
  expect_counted(learner, {{shape, 2}});
}

TEST(DemandLearnerTest, PodsWithoutGpusAreNotCounted) {
  demand::DemandLearner learner;
  learner.pod_arrived("a", make_shape(0, 0, 5000), kSupply);
  learner.pod_was_present("b", make_shape(0, 0, 5000));
  EXPECT_FALSE(learner.knows("a"));
  EXPECT_FALSE(learner.tables_due());
  expect_counted(learner, {});
}

TEST(DemandLearnerTest, PodsThatWereRefusedCountAsMuch) {
  demand::DemandLearner placed;
  demand::DemandLearner refused;
  for (int i = 0; i < 40; ++i) {
    const std::string uid = std::to_string(i);
    placed.pod_arrived(uid, make_shape(1, 300 + i), kSupply);
    refused.pod_arrived(uid, make_shape(1, 300 + i), kSupply);
    placed.pod_placed(uid);
    if (i % 2 == 0) refused.pod_left(uid, kSupply);
  }
  placed.build_tables(kSupply);
  refused.build_tables(kSupply);
  expect_same(placed.demand(), refused.demand());
  EXPECT_EQ(refused.churn(), 0) << "what was never placed does not leave";
}

TEST(DemandLearnerTest, WhileNothingLeavesNothingChurns) {
  demand::DemandLearner learner;
  for (int i = 0; i < 3000; ++i) {
    const std::string uid = std::to_string(i);
    learner.pod_arrived(uid, make_shape(1, 1 + i % 1000), kSupply);
    learner.pod_placed(uid);
    ASSERT_EQ(learner.churn(), 0);
  }
  learner.pod_left("nobody", kSupply);
  learner.pod_placed("nobody");
  EXPECT_EQ(learner.churn(), 0);
}

TEST(DemandLearnerTest, WhereAsMuchLeavesAsComesItChurnsInFull) {
  demand::DemandLearner learner;
  for (int i = 0; i < 3000; ++i) {
    const std::string uid = std::to_string(i);
    learner.pod_arrived(uid, make_shape(1, 500), kSupply);
    learner.pod_placed(uid);
    if (i >= 100) learner.pod_left(std::to_string(i - 100), kSupply);
    if (i > 200) {
      ASSERT_EQ(learner.churn(), model::Demand::kFullChurn) << i;
    }
  }
  for (int i = 3000; i < 15'000; ++i)
    learner.pod_arrived(std::to_string(i), make_shape(1, 500), kSupply);
  EXPECT_EQ(learner.churn(), 0) << "long ago";
}

TEST(DemandLearnerTest, WhatWasThereSaysNothingOfHowFastPodsComeAndGo) {
  demand::DemandLearner learner;
  const demand::PodShape shape = make_shape(1, 300);
  for (int i = 0; i < 100; ++i) {
    learner.pod_was_present("old" + std::to_string(i), shape);
    learner.pod_placed("old" + std::to_string(i));
  }
  EXPECT_EQ(learner.churn(), 0);
  for (int i = 0; i < 50; ++i) learner.pod_left("old" + std::to_string(i), kSupply);
  EXPECT_EQ(learner.churn(), 0) << "nothing has come";
  expect_counted(learner, {{shape, 100}});
  learner.pod_arrived("new", shape, kSupply);
  EXPECT_EQ(learner.churn(), 0);
}

TEST(DemandLearnerTest, AllButThoseThatAreKeptAreGone) {
  demand::DemandLearner listed;
  demand::DemandLearner told;
  for (demand::DemandLearner* learner : {&listed, &told}) {
    for (int i = 0; i < 60; ++i) {
      const std::string uid = std::to_string(i);
      learner->pod_arrived(uid, make_shape(1, 100 + 10 * i), kSupply);
      if (i % 2 == 0) learner->pod_placed(uid);
    }
  }
  std::vector<std::string> kept;
  for (int i = 0; i < 60; ++i) {
    if (i % 20 != 0) {
      kept.push_back(std::to_string(i));
    } else {
      told.pod_left(std::to_string(i), kSupply);
    }
  }
  kept.emplace_back("unheard of");
  listed.retain({kept.begin(), kept.end()}, kSupply);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(listed.knows(std::to_string(i)), i % 20 != 0);
  EXPECT_EQ(listed.churn(), told.churn());
  EXPECT_GT(listed.churn(), 0);
  EXPECT_FALSE(listed.knows("unheard of"));
}

TEST(DemandLearnerTest, BeyondItsBoundAllCountsAreHalvedAndSingleOnesForgotten) {
  demand::DemandLearner learner;
  const demand::PodShape often = make_shape(1, 333, 1);
  const auto most = static_cast<std::int64_t>(base::kMaxPodShapes);
  int next = 0;
  const auto come = [&](const demand::PodShape& shape) {
    learner.pod_arrived(std::to_string(next++), shape, kSupply);
  };
  const demand::PodShape twice = make_shape(1, 444, 1);
  for (int i = 0; i < 401; ++i) come(often);
  for (int i = 0; i < 2; ++i) come(twice);
  for (std::int64_t i = 2; i < most; ++i) come(make_shape(1, 500, i));
  come(make_shape(1, 500, most));
  expect_counted(learner, {{often, 200.5}, {twice, 1}, {make_shape(1, 500, most), 1}}, 1e9);
}

TEST(DemandLearnerTest, WhereAllComeOftenAndTooManyDifferItBeginsAnew) {
  demand::DemandLearner learner;
  int next = 0;
  for (int round = 0; round < 4; ++round) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(base::kMaxPodShapes); ++i) {
      learner.pod_arrived(std::to_string(next++), make_shape(1, 500, i), kSupply);
    }
  }
  const demand::PodShape last = make_shape(1, 1, 99'999);
  learner.pod_arrived("last", last, kSupply);
  expect_counted(learner, {{last, 1}}, 1e9);
}

TEST(DemandLearnerTest, WhatIsNotPlacedWhenOthersHaveComeSaturates) {
  struct Row {
    std::string_view why;
    int refused_of_hundred;
    int saturation;
  };
  for (const Row& row :
       std::vector<Row>{{"all find room", 0, 0},
                        {"one in a hundred does not", 1, model::Demand::kFullSaturation / 2},
                        {"half do not", 50, model::Demand::kFullSaturation}}) {
    demand::DemandLearner learner;
    for (int i = 0; i < 3000; ++i) {
      const std::string uid = std::to_string(i);
      learner.pod_arrived(uid, make_shape(1, 400), kSupply);
      if (i % 100 >= row.refused_of_hundred) {
        learner.pod_placed(uid);
      } else {
        learner.pod_left(uid, kSupply);
      }
      learner.pod_arrived("multi" + uid, make_shape(4, 1000), kSupply);
    }
    EXPECT_NEAR(learner.saturation(), row.saturation, 1) << row.why;
    EXPECT_EQ(learner.saturation() == 0, row.saturation == 0) << row.why;
  }
}

TEST(DemandLearnerTest, ABurstThatFindsRoomDoesNotSaturate) {
  demand::DemandLearner learner;
  for (int i = 0; i < 900; ++i) learner.pod_arrived(std::to_string(i), make_shape(1, 400), kSupply);
  for (int i = 0; i < 900; ++i) learner.pod_placed(std::to_string(i));
  EXPECT_EQ(learner.saturation(), 0);
}

TEST(DemandLearnerTest, WhatWaitsWhileOthersPassItSaturatesThoughItIsNeverGone) {
  demand::DemandLearner learner;
  for (int i = 0; i < 2000; ++i) {
    const std::string uid = std::to_string(i);
    learner.pod_arrived(uid, make_shape(1, 400), kSupply);
    if (i % 10 != 0) learner.pod_placed(uid);
  }
  EXPECT_EQ(learner.saturation(), model::Demand::kFullSaturation);
}

TEST(DemandLearnerTest, WhatNoNodeCouldHoldTeachesNothing) {
  demand::Supply supply = kSupply;
  supply.max_gpus_per_node = 8;
  supply.max_cpu_milli_per_node = 96'000;
  supply.max_memory_mib_per_node = 400'000;
  demand::DemandLearner learner;
  learner.pod_arrived("sane", make_shape(1, 400), supply);
  demand::DemandLearner other = learner;
  demand::PodShape of_memory = make_shape(1, 0);
  of_memory.gpu_memory = {99'999'999};
  int number = 0;
  for (const demand::PodShape& huge :
       {make_shape(9, 1000), make_shape(1, 400, 96'001), make_shape(1, 400, 1, 400'001),
        make_shape(1'000'000, 1000), make_shape(1, 400, 1, 1, {"none"}), of_memory}) {
    ASSERT_FALSE(supply.can_hold(huge)) << number;
    other.pod_arrived("huge" + std::to_string(number++), huge, supply);
  }
  learner.build_tables(supply);
  other.build_tables(supply);
  EXPECT_TRUE(learner.demand().multi_gpu_shapes == other.demand().multi_gpu_shapes);
  EXPECT_TRUE(learner.demand().cpu == other.demand().cpu);
  EXPECT_EQ(learner.demand().scarcity, other.demand().scarcity);
  EXPECT_EQ(learner.churn(), other.churn());
}

TEST(DemandLearnerTest, ADrainCountsAsAFullBalanceAndFadesWithWhatComes) {
  demand::DemandLearner learner;
  for (int i = 0; i < 5000; ++i) {
    learner.pod_arrived(std::to_string(i), make_shape(1, 1000), kSupply);
    learner.pod_placed(std::to_string(i));
  }
  for (int i = 0; i < 5000; ++i) learner.pod_left(std::to_string(i), kSupply);
  EXPECT_EQ(learner.churn(), model::Demand::kFullChurn);
  for (int i = 0; i < 2500; ++i) {
    const std::string uid = "later" + std::to_string(i);
    learner.pod_arrived(uid, make_shape(1, 1000), kSupply);
    learner.pod_placed(uid);
  }
  EXPECT_LE(learner.churn(), model::Demand::kFullChurn / 2);
}

TEST(DemandLearnerTest, TablesAreDueAtTheFirstPodAndThenEverMoreSeldomUpToABound) {
  demand::DemandLearner learner;
  std::int64_t since = 0;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 10'000; ++i) {
    learner.pod_arrived(std::to_string(i), make_shape(1, 500), kSupply);
    ++since;
    if (!learner.tables_due()) continue;
    waits.push_back(since);
    since = 0;
    learner.build_tables(kSupply);
    ASSERT_FALSE(learner.tables_due());
  }
  ASSERT_GT(waits.size(), 3U);
  EXPECT_EQ(waits.front(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(waits));
  EXPECT_EQ(waits.back(), waits[waits.size() - 2]) << "the bound";
}

/// A word of the definition each: means over arrivals of what has come and what has left since.
class NaiveChurn {
 public:
  void arrived(double milli) {
    const double window =
        std::min(static_cast<double>(demand::kRegimeWindow), static_cast<double>(++arrivals_));
    arriving_ += (milli - arriving_) / window;
    leaving_ += (left_ - leaving_) / window;
    left_ = 0;
  }
  void left(double milli) { left_ += milli; }
  /// In steps of Demand::churn.
  [[nodiscard]] double exact() const {
    if (arriving_ == 0) return 0;
    const double window = std::max(
        1.0, std::min(static_cast<double>(demand::kRegimeWindow), static_cast<double>(arrivals_)));
    const double part = (leaving_ + left_ / window) / arriving_ / demand::kFullChurnRatio;
    return model::Demand::kFullChurn * std::min(1.0, part);
  }

 private:
  std::int64_t arrivals_ = 0;
  double arriving_ = 0;
  double leaving_ = 0;
  double left_ = 0;
};

TEST(DemandLearnerTest, ChurnFollowsWhatLeavesByWhatComesAndDoesNotTremble) {
  constexpr double kStays = demand::kRegimeHysteresis;
  constexpr double kSlack = 0.05;  // what has left may count at once
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    demand::DemandLearner learner;
    NaiveChurn naive;
    std::map<std::string, double> placed;
    const std::int64_t patience = random.from_to(1, 12);
    int before = 0;
    for (int i = 0; i < 2500; ++i) {
      const std::string uid = std::to_string(i);
      const std::int64_t milli = random.from_to(1, 1000);
      learner.pod_arrived(uid, make_shape(1, milli), kSupply);
      naive.arrived(static_cast<double>(milli));
      if (!random.one_in(4)) {
        learner.pod_placed(uid);
        placed.emplace(uid, milli);
      }
      if (i > 500 && !placed.empty() && random.one_in(patience)) {
        learner.pod_left(placed.begin()->first, kSupply);
        naive.left(placed.begin()->second);
        placed.erase(placed.begin());
      }
      ASSERT_NEAR(learner.churn(), naive.exact(), kStays + kSlack) << i;
      if (learner.churn() == before) continue;
      ASSERT_NEAR(learner.churn(), naive.exact(), 0.5 + kSlack) << i;
      ASSERT_GT(std::abs(before - naive.exact()), kStays - kSlack) << i << ": trembles";
      before = learner.churn();
    }
  }
}

TEST(DemandLearnerTest, TheSameEventsTeachTheSame) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    demand::DemandLearner first;
    demand::DemandLearner second;
    for (demand::DemandLearner* learner : {&first, &second}) {
      Random random(seed);
      for (int i = 0; i < 300; ++i) {
        learner->pod_arrived(std::to_string(i), draw_shape(random), kSupply);
        if (random.one_in(2)) learner->pod_placed(std::to_string(i));
        if (random.one_in(3)) learner->pod_left(std::to_string(random.draw(i + 1)), kSupply);
        if (learner->tables_due()) learner->build_tables(kSupply);
      }
    }
    EXPECT_EQ(first.churn(), second.churn());
    expect_same(first.demand(), second.demand());
  }
}

}  // namespace
}  // namespace snug::learner_test
