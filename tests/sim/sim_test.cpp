// Snug against the naive model: 200 seeds of 2,000 steps in a cluster of shared GPUs, and as many
// in one with MIG slices; and two Snugs of which one may decide, 600 seeds. With sanitizers 4 seeds
// of each. One run again, with its steps:
//   SNUG_SIM_SEED=17 SNUG_SIM_CLUSTER=slices SNUG_SIM_STEPS=2000 sim_test
//   --gtest_filter='*OneSeed*'
// The clusters are shares, slices and two. More seeds: bench/sim_bench.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/harness/cluster_simulation.hpp"
#include "sim/harness/simulation.hpp"

namespace snug::sim_test {
namespace {

#ifdef SNUG_SANITIZED  // there is one thread, so the sanitizers need few
constexpr std::uint64_t kSeedsPerShard = 4;
constexpr std::uint64_t kPairsPerShard = 4;
constexpr std::uint64_t kShards = 1;
#else
constexpr std::uint64_t kSeedsPerShard = 50;
constexpr std::uint64_t kPairsPerShard = 150;
constexpr std::uint64_t kShards = 4;
#endif

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoll(text);
}

int steps() { return static_cast<int>(from_environment("SNUG_SIM_STEPS", 2'000)); }

bool holds(std::uint64_t seed, SimCluster cluster, Simulation::Tally& sum,
           std::size_t trace_lines = 60) {
  Simulation run(seed, cluster, trace_lines);
  const bool good = run.run(steps());
  EXPECT_TRUE(good) << "SNUG_SIM_SEED=" << seed << " SNUG_SIM_CLUSTER="
                    << (cluster == SimCluster::kSlices ? "slices" : "shares")
                    << " SNUG_SIM_STEPS=" << steps() << "\n"
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
  sum.promised += tally.promised;
  sum.agents.created += tally.agents.created;
  sum.agents.reused += tally.agents.reused;
  sum.agents.removed += tally.agents.removed;
  sum.agents.failed += tally.agents.failed;
  sum.agents.other_uuids += tally.agents.other_uuids;
  return good;
}

/// False: a seed did not hold.
bool hold(std::uint64_t first, SimCluster cluster, Simulation::Tally& sum) {
  for (std::uint64_t seed = first; seed < first + kSeedsPerShard; ++seed) {
    if (!holds(seed, cluster, sum)) return false;
  }
  std::cout << "seeds " << first << " to " << first + kSeedsPerShard - 1 << ": " << sum.bound
            << " bound, " << sum.refused_by_filter << " refused, " << sum.lost_races
            << " lost races, " << sum.nominated << " nominated, " << sum.restarts << " restarts, "
            << sum.quiet_checks << " quiet checks, " << sum.unsure << " unsure, " << sum.promised
            << " refused for promises\n";
  return true;
}

/// The runs were not idle.
void expect_busy(const Simulation::Tally& sum) {
  EXPECT_GT(sum.bound, 100);
  EXPECT_GT(sum.refused_by_filter, 20);
  EXPECT_GT(sum.lost_races, 5);
  EXPECT_GT(sum.lists, 20);
  EXPECT_GT(sum.restarts, 5);
  EXPECT_GT(sum.quiet_checks, 20);
  EXPECT_GT(sum.nested_steps, 100);
  EXPECT_GT(sum.touches, 20);
  EXPECT_GT(sum.nominated, 100);
  if (kSeedsPerShard > 10) {
    EXPECT_GT(sum.promised, 5);
  }
  EXPECT_LT(sum.unsure, sum.quiet_checks);  // the model knows, as a rule
}

bool two_hold(std::uint64_t seed, ClusterSimulation::Tally& sum, std::size_t trace_lines = 60) {
  ClusterOptions options = options_of(seed);
  options.trace_lines = trace_lines;
  ClusterSimulation run(seed, options);
  const bool good = run.run(steps());
  EXPECT_TRUE(good) << "SNUG_SIM_SEED=" << seed
                    << " SNUG_SIM_CLUSTER=two SNUG_SIM_STEPS=" << steps() << "\n"
                    << run.trace();
  const ClusterSimulation::Tally& tally = run.tally();
  sum.bound += tally.bound;
  sum.refused_calls += tally.refused_calls;
  sum.takeovers += tally.takeovers;
  sum.failovers += tally.failovers;
  sum.kills += tally.kills;
  sum.stops += tally.stops;
  sum.faults += tally.faults;
  sum.late_posts += tally.late_posts;
  sum.too_late += tally.too_late;
  sum.lies += tally.lies;
  sum.quiet_checks += tally.quiet_checks;
  return good;
}

class SimulationTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SimulationTest, SnugAgreesWithTheNaiveModel) {
  Simulation::Tally sum;
  if (hold(GetParam() * kSeedsPerShard + 1, SimCluster::kShares, sum)) expect_busy(sum);
}

TEST_P(SimulationTest, NoSliceOverlapsAndNoneIsLost) {
  Simulation::Tally sum;
  if (!hold(GetParam() * kSeedsPerShard + 1, SimCluster::kSlices, sum)) return;
  expect_busy(sum);
  const Agents::Counts& slices = sum.agents;
  std::cout << "slices: " << slices.created << " created, " << slices.reused << " reused, "
            << slices.removed << " removed, " << slices.failed << " failed, " << slices.other_uuids
            << " with another uuid\n";
  constexpr auto kSeeds = static_cast<int>(kSeedsPerShard);
  EXPECT_GT(slices.created, 2 * kSeeds);
  EXPECT_GT(slices.reused, kSeeds / 2);
  EXPECT_GT(slices.removed, kSeeds / 2);
  EXPECT_GT(slices.failed, kSeeds / 5);
}

TEST_P(SimulationTest, OneOfTwoSnugsDecidesAndNoGpuIsGivenTwice) {
  ClusterSimulation::Tally sum;
  const std::uint64_t first = GetParam() * kPairsPerShard + 1;
  for (std::uint64_t seed = first; seed < first + kPairsPerShard; ++seed) {
    if (!two_hold(seed, sum)) return;
  }
  std::cout << "seeds " << first << " to " << first + kPairsPerShard - 1 << ": " << sum.bound
            << " bound, " << sum.refused_calls << " calls refused, " << sum.takeovers
            << " takeovers, " << sum.kills << " kills, " << sum.stops << " stops, " << sum.faults
            << " faults, " << sum.late_posts << " late POSTs, " << sum.too_late << " not sent, "
            << sum.lies << " lies, " << sum.quiet_checks << " quiet checks\n";
  constexpr auto kPairs = static_cast<int>(kPairsPerShard);
  EXPECT_GT(sum.bound, 10 * kPairs);
  EXPECT_GT(sum.takeovers, 5 * kPairs);
  EXPECT_GT(sum.failovers, 10 * kPairs);
  EXPECT_GT(sum.kills, 2 * kPairs);
  EXPECT_GT(sum.stops, 5 * kPairs);
  EXPECT_GT(sum.late_posts, kPairs);
  EXPECT_GT(sum.lies, kPairs);
  EXPECT_GT(sum.quiet_checks, 2 * kPairs);
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
  const char* cluster = std::getenv("SNUG_SIM_CLUSTER");
  if (cluster != nullptr && std::string(cluster) == "two") {
    ClusterSimulation::Tally sum;
    EXPECT_TRUE(two_hold(GetParam(), sum, 20'000));
    return;
  }
  const bool slices = cluster != nullptr && std::string(cluster) == "slices";
  Simulation::Tally sum;
  EXPECT_TRUE(holds(GetParam(), slices ? SimCluster::kSlices : SimCluster::kShares, sum, 20'000));
}
INSTANTIATE_TEST_SUITE_P(Environment, OneSeedTest, testing::ValuesIn(seeds_of_environment()));

/// What the election is for, and that the simulation sees it.
TEST(SimulationRunTest, TwoSnugsWithoutElectionGiveAGpuTwice) {
  constexpr std::uint64_t kSeeds = 100;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ClusterSimulation run(seed, {.elect = false});
    if (run.run(steps())) continue;
    std::cout << "found at seed " << seed << "\n";
    EXPECT_EQ(run.violations().front().check, "over-commitment");
    return;
  }
  FAIL() << "not found in " << kSeeds << " seeds";
}

TEST(SimulationRunTest, TheSameSeedGivesTheSameRun) {
  Simulation first(7, SimCluster::kSlices);
  Simulation second(7, SimCluster::kSlices);
  (void)first.run(300);
  (void)second.run(300);
  EXPECT_EQ(first.trace(), second.trace());
  ClusterSimulation third(7, {});
  ClusterSimulation fourth(7, {});
  (void)third.run(300);
  (void)fourth.run(300);
  EXPECT_EQ(third.trace(), fourth.trace());
}

}  // namespace
}  // namespace snug::sim_test
