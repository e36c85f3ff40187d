#include "fit/constraints.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pods.hpp"

namespace snug::constraints_test {
namespace {

const model::SharingRules& own_namespace_only() {
  static const model::SharingRules rules({{{"*"}, {.own_namespace_only = true}}});
  return rules;
}

/// A situation for each constraint, in which it is the first that refuses the container.
std::vector<FitRow> refusals() {
  const model::HoldingPtr holder = make_holding("h", "n1", {make_share(0, 8000, 800)});
  return {
      {"size", "n1: A 10000", {}, "app 20000", "TooLarge", {}},
      {"model", "n1: A 10000 unhealthy", {}, "app 0.500 !A", "ModelExcluded", {}},
      {"mode", "n1: A 10000 unhealthy", {}, "app 0.500 mps", "WrongMode", {}},
      {"health", "n1: A 10000 unhealthy", {}, "app 0.500", "Unhealthy", {.cap_remaining = 100}},
      {"cap", "n1: A 10000", {holder}, "app 0.500", "CapReached", {.cap_remaining = 100}},
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
  for (const fit::Constraint& constraint : fit::constraints()) {
    EXPECT_TRUE(given.contains(model::reason_row(constraint.reason).code));
  }
  EXPECT_EQ(given.size(), fit::constraints().size());
}

TEST(ConstraintsTest, OneContainerAndSeveralGetTheSameReason) {
  for (const FitRow& row : refusals()) {
    const model::NodeStatePtr node = make_state(row.node, row.holdings);
    const std::string asks(row.asks);
    for (const char* more : {"", "; app 0.001", "; side 0.001", "; init 0.001"}) {
      EXPECT_EQ(takes_text(*node, make_asks(asks + more), row.tenant), row.expected)
          << row.why << more;
    }
    // The same container on two GPUs.
    const model::NodeStatePtr two = make_state(std::string(row.node) + " x2", row.holdings);
    if (row.holdings.empty()) {
      EXPECT_EQ(takes_text(*two, make_asks(asks + " x2"), row.tenant), row.expected) << row.why;
    }
  }
}

TEST(ConstraintsTest, WithoutTheLastOnesAGpuOffersWhatTheyTakeAway) {
  const model::HoldingPtr holder = make_holding("h", "n1", {make_share(0, 8000, 800)});
  const model::NodeStatePtr node = make_state("n1: A 10000", {holder});
  const fit::Tenant tenant{.name_space = "other", .rules = &own_namespace_only()};
  const fit::NodeView view(*node, tenant, fit::isolated_gpus(*node, tenant));
  fit::GpuView gpu(view, 0);
  gpu.takers = 1;
  const std::size_t all = fit::constraints().size();
  EXPECT_EQ(fit::allocatable(gpu, all).shares_for(model::Isolation::kAny), model::GpuMode::kNone);
  EXPECT_EQ(fit::allocatable(gpu, all - 1).shares_for(model::Isolation::kAny),
            model::GpuMode::kTimeSlicing);
  EXPECT_EQ(fit::allocatable(gpu, all - 1).free, (fit::Charge{{2000}, {200}}));
  EXPECT_EQ(fit::allocatable(gpu, all - 2).free, (fit::Charge{{10000}, {1000}}));
  EXPECT_FALSE(fit::allocatable(gpu, all - 1).whole);
  EXPECT_TRUE(fit::allocatable(gpu, all - 2).whole);
}

}  // namespace
}  // namespace snug::constraints_test
