#include "fit/constraints.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pods.hpp"

namespace snug::constraints_test {
namespace {

const SharingRules& own_namespace_only() {
  static const SharingRules rules({{{"*"}, {.own_namespace_only = true}}});
  return rules;
}

/// A situation for each constraint, in which it is the first that refuses the container.
std::vector<FitRow> refusals() {
  const HoldingPtr holder = make_holding("h", "n1", {make_share(0, 8000, 800)});
  return {
      {"size", "n1: A 10000", {}, "app 20000", "TooLarge", {}},
      {"model", "n1: A 10000 unhealthy", {}, "app 0.500 !A", "ModelExcluded", {}},
      {"mode", "n1: A 10000 unhealthy", {}, "app 0.500 mps", "WrongMode", {}},
      {"health", "n1: A 10000 unhealthy", {}, "app 0.500", "Unhealthy", {.cap_left = 100}},
      {"cap", "n1: A 10000", {holder}, "app 0.500", "CapReached", {.cap_left = 100}},
      {"free amounts",
       "n1: A 10000",
       {holder},
       "app 0.500",
       "NoRoom",
       {.name_space = "other", .rules = &own_namespace_only()}},
      {"neighbours",
       "n1: A 10000",
       {holder},
       "app 0.100",
       "OtherNamespace",
       {.name_space = "other", .rules = &own_namespace_only()}},
  };
}

TEST(ConstraintsTest, EachHasASituationInWhichItGivesTheReason) {
  std::set<std::string_view> given;
  for (const FitRow& row : refusals()) given.insert(row.expected);
  for (const Constraint& constraint : constraints()) {
    EXPECT_TRUE(given.contains(reason(constraint.reason).code));
  }
  EXPECT_EQ(given.size(), constraints().size());
}

TEST(ConstraintsTest, OneContainerAndSeveralGetTheSameReason) {
  for (const FitRow& row : refusals()) {
    const NodeStatePtr node = make_state(row.node, row.holdings);
    const std::string asks(row.asks);
    for (const char* more : {"", "; app 0.001", "; side 0.001", "; init 0.001"}) {
      EXPECT_EQ(takes_text(*node, make_asks(asks + more), row.tenant), row.expected)
          << row.why << more;
    }
    // The same container on two GPUs.
    const NodeStatePtr two = make_state(std::string(row.node) + " x2", row.holdings);
    if (row.holdings.empty()) {
      EXPECT_EQ(takes_text(*two, make_asks(asks + " x2"), row.tenant), row.expected) << row.why;
    }
  }
}

TEST(ConstraintsTest, WithoutTheLastOnesAGpuOffersWhatTheyTakeAway) {
  const HoldingPtr holder = make_holding("h", "n1", {make_share(0, 8000, 800)});
  const NodeStatePtr node = make_state("n1: A 10000", {holder});
  const Tenant tenant{.name_space = "other", .rules = &own_namespace_only()};
  const NodeView view(*node, tenant, kept_apart(*node, tenant));
  GpuView gpu(view, 0);
  gpu.takers = 1;
  const std::size_t all = constraints().size();
  EXPECT_EQ(allocatable(gpu, all).shares_for(Isolation::kAny), GpuMode::kNone);
  EXPECT_EQ(allocatable(gpu, all - 1).shares_for(Isolation::kAny), GpuMode::kTimeSlicing);
  EXPECT_EQ(allocatable(gpu, all - 1).free, (Charge{{2000}, {200}}));
  EXPECT_EQ(allocatable(gpu, all - 2).free, (Charge{{10000}, {1000}}));
  EXPECT_FALSE(allocatable(gpu, all - 1).whole);
  EXPECT_TRUE(allocatable(gpu, all - 2).whole);
}

}  // namespace
}  // namespace snug::constraints_test
