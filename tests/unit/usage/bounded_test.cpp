#include "snug/usage/bounded.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace snug::bounded_test {
namespace {

usage::NamespaceTotals used_by(const std::string& name, std::int64_t milli) {
  return {.name_space = name,
          .pods = 1,
          .memory = {10 * milli},
          .compute = {milli},
          .cap = base::MilliGpu{9000}};
}

usage::NamespaceTotals others(std::int64_t pods, std::int64_t milli) {
  return {.name_space = "_others",
          .pods = pods,
          .memory = {10 * milli},
          .compute = {milli},
          .cap = std::nullopt};
}

TEST(BoundedTest, TheNamespacesWithTheMostComputeStayAndTheOthersAreOneRow) {
  const std::vector<usage::NamespaceTotals> rows{used_by("a", 100), used_by("b", 300),
                                                 used_by("c", 200), used_by("d", 200)};
  using Rows = std::vector<usage::NamespaceTotals>;
  EXPECT_EQ(usage::bounded(rows, 4), rows);
  EXPECT_EQ(usage::bounded(rows, 9), rows);
  EXPECT_EQ(usage::bounded(rows, 2), (Rows{rows[1], rows[2], others(2, 300)}));
  EXPECT_EQ(usage::bounded(rows, 0), (Rows{others(4, 800)}));
  EXPECT_EQ(usage::bounded(Rows{}, 0), Rows{});
}

TEST(BoundedTest, TheModelsWithTheMostGpusStay) {
  const std::vector<usage::ModelUsage> rows{
      {.model = "A", .gpus = 1, .memory = {10}, .compute_held = {100}, .free_whole_gpus = 1},
      {.model = "B", .gpus = 8},
      {.model = "C", .gpus = 2, .memory = {20}, .memory_held = {5}, .compute_held = {200}}};
  const std::vector<usage::ModelUsage> bounded = usage::bounded(rows, 1);
  ASSERT_EQ(bounded.size(), 2U);
  EXPECT_EQ(bounded[0], rows[1]);
  EXPECT_EQ(bounded[1], (usage::ModelUsage{.model = "_others",
                                           .gpus = 3,
                                           .memory = {30},
                                           .memory_held = {5},
                                           .compute_held = {300},
                                           .free_whole_gpus = 1}));
}

TEST(BoundedTest, AModelThatIsNamedLikeTheSumIsPartOfIt) {
  const std::vector<usage::ModelUsage> rows{{.model = "A", .gpus = 1},
                                            {.model = "_others", .gpus = 9}};
  EXPECT_EQ(usage::bounded(rows, 5), rows);
}

}  // namespace
}  // namespace snug::bounded_test
