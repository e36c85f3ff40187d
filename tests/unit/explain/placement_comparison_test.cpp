// Why a pod is on its node, under profiles with and without a quantum. A GPU has 1000 MiB.
#include <gtest/gtest.h>

#include <cstdint>

#include "snug/explain/explain.hpp"
#include "support/repack_scenario.hpp"

namespace snug::placement_comparison_test {
namespace {

/// What filter would choose if best-fit has this quantum. n2 has the better score, n1 the lower
/// name.
explain::PlacementComparison best_of_two(std::int64_t quantum) {
  score::Profile profile = make_profile("best-fit");
  profile.quantum = quantum;
  RepackScenario on({"n1: A 1000", "n2: A 1000"}, {"a n1 g0:300", "b n2 g0:400"},
                    make_fraction(500));
  on.incoming = OwnedIncomingPod(make_fraction(500), profile);
  const model::Snapshot snapshot = on.snapshot();
  const explain::ExplainInput input{.snapshot = snapshot, .incoming = on.incoming.view()};
  return explain::compare_best(input, explain::explain(input)).value();
}

TEST(PlacementComparisonTest, WithoutAQuantumTheScoreIsTheClass) {
  const explain::PlacementComparison best = best_of_two(1);
  ASSERT_TRUE(best.runner_up.has_value());
  EXPECT_EQ(best.chosen.node, "n2");
  EXPECT_EQ(best.chosen.quantum, 1);
  EXPECT_EQ(best.chosen.score_class, best.chosen.total);
  EXPECT_EQ(best.runner_up->score_class, best.runner_up->total);
}

TEST(PlacementComparisonTest, TheChosenNodeMayHaveALowerScoreOfTheSameClass) {
  const explain::PlacementComparison best = best_of_two(score::kMaxQuantum);
  ASSERT_TRUE(best.runner_up.has_value());
  EXPECT_EQ(best.chosen.node, "n1");
  EXPECT_LT(best.chosen.total, best.runner_up->total);
  EXPECT_EQ(best.chosen.score_class, 1);
  EXPECT_EQ(best.runner_up->score_class, 1);
  EXPECT_EQ(best.chosen.quantum, score::kMaxQuantum);
  EXPECT_EQ(best.runner_up->quantum, score::kMaxQuantum);
}

}  // namespace
}  // namespace snug::placement_comparison_test
