// Snug against the naive model: 200 seeds of 2,000 steps. One run again, with its steps:
//   SNUG_SIM_SEED=17 SNUG_SIM_STEPS=2000 sim_test --gtest_filter='*OneSeed*'
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/harness/simulation.hpp"

namespace snug {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kSeedsPerShard = 4;  // one thread: the sanitizers need few
#else
constexpr std::uint64_t kSeedsPerShard = 50;
#endif
constexpr std::uint64_t kShards = 4;

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}

int steps() { return static_cast<int>(from_environment("SNUG_SIM_STEPS", 2'000)); }

bool holds(std::uint64_t seed, Simulation::Tally& sum, std::size_t trace_lines = 60) {
  Simulation run(seed, trace_lines);
  const bool good = run.run(steps());
  EXPECT_TRUE(good) << "SNUG_SIM_SEED=" << seed << " SNUG_SIM_STEPS=" << steps() << "\n"
                    << run.trace();
  const Simulation::Tally& tally = run.tally();
  sum.bound += tally.bound;
  sum.refused_by_filter += tally.refused_by_filter;
  sum.lost_races += tally.lost_races;
  sum.lists += tally.lists;
  sum.restarts += tally.restarts;
  sum.quiet_checks += tally.quiet_checks;
  sum.nested_steps += tally.nested_steps;
  sum.touches += tally.touches;
  sum.nominated += tally.nominated;
  sum.unsure += tally.unsure;
  return good;
}

class SimulationTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SimulationTest, SnugAgreesWithTheNaiveModel) {
  Simulation::Tally sum;
  const std::uint64_t first = GetParam() * kSeedsPerShard + 1;
  for (std::uint64_t seed = first; seed < first + kSeedsPerShard; ++seed) {
    if (!holds(seed, sum)) return;
  }
  std::cout << "seeds " << first << " to " << first + kSeedsPerShard - 1 << ": " << sum.bound
            << " bound, " << sum.refused_by_filter << " refused, " << sum.lost_races
            << " lost races, " << sum.nominated << " nominated, " << sum.restarts << " restarts, "
            << sum.quiet_checks << " quiet checks\n";
  // The runs were not idle.
  EXPECT_GT(sum.bound, 100);
  EXPECT_GT(sum.refused_by_filter, 20);
  EXPECT_GT(sum.lost_races, 5);
  EXPECT_GT(sum.lists, 20);
  EXPECT_GT(sum.restarts, 5);
  EXPECT_GT(sum.quiet_checks, 20);
  EXPECT_GT(sum.nested_steps, 100);
  EXPECT_GT(sum.touches, 20);
  EXPECT_GT(sum.nominated, 100);
  EXPECT_LT(sum.unsure, sum.quiet_checks);  // the model knows, as a rule
}
INSTANTIATE_TEST_SUITE_P(Shards, SimulationTest, testing::Range<std::uint64_t>(0, kShards));

/// SNUG_SIM_SEED, where it is set: to repeat one run with its whole trace.
std::vector<std::uint64_t> seeds_of_environment() {
  const char* seed = std::getenv("SNUG_SIM_SEED");
  if (seed == nullptr) return {};
  return {std::stoull(seed)};
}

class OneSeedTest : public testing::TestWithParam<std::uint64_t> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OneSeedTest);

TEST_P(OneSeedTest, AsTheEnvironmentSays) {
  Simulation::Tally sum;
  EXPECT_TRUE(holds(GetParam(), sum, 20'000));
}
INSTANTIATE_TEST_SUITE_P(Environment, OneSeedTest, testing::ValuesIn(seeds_of_environment()));

TEST(SimulationRunTest, TheSameSeedGivesTheSameRun) {
  Simulation first(7);
  Simulation second(7);
  (void)first.run(300);
  (void)second.run(300);
  EXPECT_EQ(first.trace(), second.trace());
}

}  // namespace
}  // namespace snug
