#include "snug/sim/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naive_sim.hpp"
#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug::replay_test {
namespace {

/// The naive simulator's choice among the candidates, by what the ledger shows of the nodes.
class BestFitPlacer final : public sim::Placer {
 public:
  std::optional<base::NodeIndex> choose_node(const sim::ArrivingPod& arriving,
                                             std::span<const base::NodeIndex> candidates,
                                             ledger::Ledger& ledger) override {
    const model::SnapshotPtr snapshot = ledger.snapshot();
    std::optional<base::NodeIndex> best;
    for (const base::NodeIndex slot : candidates) {
      const NaiveNode node = shown(*snapshot->nodes[slot.value]);
      if (!gpus_for(arriving.pod, node)) continue;
      if (best && tightness(shown(*snapshot->nodes[best->value])) <= tightness(node)) continue;
      best = slot;
    }
    return best;
  }
  void commit(const sim::ArrivingPod& arriving, base::NodeIndex node,
              ledger::Ledger& ledger) override {
    hold_on(*ledger.snapshot()->nodes[node.value], arriving, ledger);
  }

 private:
  static NaiveNode shown(const model::NodeState& state) {
    const model::HostResources& has = state.inventory->host.resources;
    NaiveNode node{.cpu = has.cpu_milli - state.host_used.cpu_milli,
                   .memory = (has.memory_bytes - state.host_used.memory_bytes) >> 20,
                   .left = {},
                   .model = state.gpus.empty() ? "" : state.gpus.front().info->model};
    for (const model::GpuState& gpu : state.gpus) node.left.push_back(gpu.free_milli);
    return node;
  }

  static void hold_on(const model::NodeState& state, const sim::ArrivingPod& arriving,
                      ledger::Ledger& ledger) {
    std::vector<model::ReservedDevice> devices;
    std::vector<int> gpus = gpus_for(arriving.pod, shown(state)).value();
    std::ranges::reverse(gpus);  // in whatever order, outcomes name them ascending
    for (const int gpu : gpus) {
      const std::int64_t milli = arriving.pod.gpu_milli;
      devices.push_back(milli == 1000 ? make_whole_device(gpu, 1000)
                                      : make_share(gpu, milli, milli));
    }
    const auto holding = make_holding(arriving.uid, state.name(), std::move(devices));
    if (arriving.pod.gpus == 0) holding->reservation.containers.clear();
    holding->host = arriving.host;
    ledger.hold(holding);
  }
};

sim::TracePod draw_trace_pod(Random& random) {
  sim::TracePod pod{.cpu_milli = 500 * random.draw(random.one_in(5) ? 64 : 12),
                    .memory_mib = 1024 * random.draw(random.one_in(5) ? 64 : 12)};
  const std::int64_t kind = random.draw(8);
  if (kind == 0) return pod;
  pod.gpus = kind == 1 ? static_cast<int>(random.from_to(2, 4)) : 1;
  pod.gpu_milli =
      kind <= 2 ? 1000 : static_cast<int>(random.one_in(2) ? 250 : random.from_to(1, 999));
  if (random.one_in(5)) pod.models = {random.pick<std::string>({"A", "B"})};
  if (random.one_in(20)) pod.models = {"A", "C"};
  return pod;
}

sim::Trace draw_trace(Random& random, bool churns) {
  sim::Trace trace;
  const std::int64_t nodes = random.from_to(1, 7);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const int gpus = random.one_in(6) ? 0 : static_cast<int>(random.from_to(1, 4));
    trace.nodes.push_back({.name = "z" + std::to_string(9 - i),
                           .cpu_milli = 1000 * random.draw(64),
                           .memory_mib = 1024 * random.draw(128),
                           .gpus = gpus,
                           .model = gpus == 0 ? "" : random.pick<std::string>({"A", "B"})});
  }
  const std::int64_t pods = random.from_to(1, 25);
  for (std::int64_t i = 0; i < pods; ++i) {
    trace.pods.push_back(draw_trace_pod(random));
    trace.pods.back().name = "p" + std::to_string(i);
  }
  const std::int64_t arrivals = random.from_to(1, 90);
  for (std::int64_t i = 0; i < arrivals; ++i) {
    sim::Arrival arrival{.pod = static_cast<std::size_t>(random.draw(pods)),
                         .lifetime = std::nullopt};
    const bool leaves = churns && (i == 0 || !random.one_in(6));
    if (leaves) arrival.lifetime = static_cast<double>(random.draw(50)) / 2;
    trace.arrivals.push_back(arrival);
  }
  return trace;
}

struct Replayed {
  sim::SimulationReport report;
  std::vector<sim::ArrivalOutcome> outcomes;
};

Replayed run(const sim::Trace& trace, sim::Placer& placer) {
  Replayed replayed;
  const base::ManualClock clock;
  const auto watcher = [&](const sim::ArrivalOutcome& outcome) {
    replayed.outcomes.push_back(outcome);
  };
  replayed.report = sim::replay({.trace = trace, .clock = clock, .on_outcome = watcher}, placer);
  return replayed;
}

void expect_near(const std::optional<double>& got, const std::optional<double>& expected,
                 std::string_view what, double near = 1e-9) {
  ASSERT_EQ(got.has_value(), expected.has_value()) << what;
  if (got) {
    EXPECT_NEAR(*got, *expected, near) << what;
  }
}

void expect_same(const sim::SimulationReport& got, const sim::SimulationReport& expected) {
  EXPECT_EQ(got.nodes, expected.nodes);
  EXPECT_EQ(got.gpus, expected.gpus);
  EXPECT_EQ(got.arrivals, expected.arrivals);
  EXPECT_EQ(got.accepted, expected.accepted);
  EXPECT_EQ(got.rejected.cpu, expected.rejected.cpu);
  EXPECT_EQ(got.rejected.share, expected.rejected.share);
  EXPECT_EQ(got.rejected.one, expected.rejected.one);
  EXPECT_EQ(got.rejected.multi, expected.rejected.multi);
  expect_near(got.final_allocation, expected.final_allocation, "at the end");
  expect_near(got.allocation.at100, expected.allocation.at100, "allocation at 100");
  expect_near(got.allocation.at130, expected.allocation.at130, "allocation at 130");
  expect_near(got.fragmentation.at100, expected.fragmentation.at100, "fragments at 100", 0.01);
  expect_near(got.fragmentation.at130, expected.fragmentation.at130, "fragments at 130", 0.01);
  ASSERT_EQ(got.churn.has_value(), expected.churn.has_value());
  if (!got.churn) return;
  EXPECT_NEAR(got.churn->allocation_mean, expected.churn->allocation_mean, 1e-9);
  EXPECT_NEAR(got.churn->rejected_pct, expected.churn->rejected_pct, 1e-9);
  expect_near(got.churn->gpu_accepted_pct, expected.churn->gpu_accepted_pct, "accepted");
  expect_near(got.churn->multi_rejected_pct, expected.churn->multi_rejected_pct, "multi rejected");
}

void expect_same(const std::vector<sim::ArrivalOutcome>& got,
                 const std::vector<sim::ArrivalOutcome>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].arrival, i);
    ASSERT_EQ(got[i].node, expected[i].node) << "arrival " << i;
    ASSERT_EQ(got[i].gpus, expected[i].gpus) << "arrival " << i;
  }
}

TEST(ReplayTest, OfRandomTracesIsWhatTheNaiveSimulatorFinds) {
  int levels = 0;
  int churning = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const sim::Trace trace = draw_trace(random, seed % 2 == 1);
    BestFitPlacer placer;
    const Replayed replayed = run(trace, placer);
    NaiveRun naive(trace);
    const sim::SimulationReport expected = naive.run(naive_choice);
    expect_same(replayed.outcomes, naive.outcomes());
    expect_same(replayed.report, expected);
    levels += expected.allocation.at100 ? 1 : 0;
    churning += expected.churn ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(levels, 20);
  EXPECT_GT(churning, 200);
}

score::PolicyPtr policy_of(std::vector<score::WeightedTerm> terms, std::int64_t quantum = 1) {
  auto policy = std::make_shared<score::Policy>();
  policy->default_profile_name = "a";
  policy->profiles.emplace("a", score::Profile{"a", std::move(terms), quantum});
  return policy;
}

/// All terms at once: whatever they say, what fits somewhere is placed, and only where it fits.
TEST(ReplayTest, APolicyPlacesWhateverFitsAndNothingElse) {
  std::vector<score::WeightedTerm> terms;
  for (const score::TermRow& term : score::all_terms())
    terms.push_back({&term, score::ByRegime({.filling = 10, .churning = 300, .saturated = 300})});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const sim::Trace trace = draw_trace(random, seed % 2 == 1);
    const auto placer = sim::policy_placer(policy_of(terms, random.from_to(1, 100'000)));
    const Replayed replayed = run(trace, *placer);
    ASSERT_EQ(replayed.outcomes.size(), trace.arrivals.size());
    NaiveRun naive(trace);
    const auto as_replayed = [&](std::size_t arrival, const sim::TracePod& pod,
                                 const NaiveCluster& cluster) {
      const sim::ArrivalOutcome& outcome = replayed.outcomes[arrival];
      EXPECT_EQ(outcome.node.has_value(), cluster.fits_somewhere(pod)) << "arrival " << arrival;
      return outcome;
    };
    expect_same(replayed.report, naive.run(as_replayed));
    const auto again = sim::policy_placer(policy_of(terms, 1));
    const auto once_more = sim::policy_placer(policy_of(terms, 1));
    expect_same(run(trace, *again).outcomes, run(trace, *once_more).outcomes);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ReplayTest, TiesGoToTheLowerRankAndTheLowerGpu) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const sim::Trace trace = draw_trace(random, seed % 2 == 1);
    const auto placer = sim::policy_placer(policy_of({}));
    const Replayed replayed = run(trace, *placer);
    NaiveRun naive(trace);
    (void)naive.run(
        [&](std::size_t arrival, const sim::TracePod& pod, const NaiveCluster& cluster) {
          const sim::ArrivalOutcome& outcome = replayed.outcomes[arrival];
          for (std::size_t node = 0; outcome.node && node < *outcome.node; ++node) {
            EXPECT_FALSE(gpus_for(pod, cluster.nodes()[node])) << "arrival " << arrival;
          }
          return outcome;
        });
  }
}

/// What is remembered of nodes must not outlive what the namespace holds elsewhere.
TEST(ReplayTest, ACapIsForTheWholeClusterAndEndsWithWhatIsHeld) {
  sim::Trace trace;
  trace.nodes = {{.name = "a", .cpu_milli = 64'000, .memory_mib = 1000, .gpus = 8, .model = "A"},
                 {.name = "b", .cpu_milli = 64'000, .memory_mib = 1000, .gpus = 8, .model = "B"}};
  trace.pods = {{.name = "on a", .gpus = 1, .gpu_milli = 1000, .models = {"A"}},
                {.name = "on b", .gpus = 1, .gpu_milli = 1000, .models = {"B"}}};
  for (int block = 0; block < 5; ++block) {
    trace.arrivals.push_back({.pod = 0, .lifetime = 1.5});
    trace.arrivals.push_back({.pod = 1, .lifetime = 1});
    trace.arrivals.push_back({.pod = 1, .lifetime = 0.5});
    trace.arrivals.push_back({.pod = 1, .lifetime = 0.5});
  }
  auto policy = std::make_shared<score::Policy>(*policy_of({{score::find_term("best-fit"), 1}}));
  policy->sharing =
      model::SharingRules({{.namespaces = {"*"}, .rule = {.cap = base::MilliGpu{1000}}}});
  const auto placer = sim::policy_placer(policy);
  const Replayed replayed = run(trace, *placer);
  EXPECT_EQ(replayed.report.accepted, 15) << "all but the second of each block";
  EXPECT_EQ(replayed.report.rejected.one, 5);
}

TEST(ReplayTest, AModelIsNamedExactly) {
  sim::Trace trace;
  trace.nodes = {
      {.name = "a", .cpu_milli = 1, .memory_mib = 1, .gpus = 8, .model = "NVIDIA-A10-SHARED"},
      {.name = "b", .cpu_milli = 1, .memory_mib = 1, .gpus = 8, .model = "G2"}};
  for (const std::string model : {"NVIDIA-A10-SHARED", "G2", "g2", "G", "A10", "X"}) {
    trace.pods.push_back({.name = model, .gpus = 1, .gpu_milli = 500, .models = {model}});
  }
  for (std::size_t pod = 0; pod < trace.pods.size(); ++pod) trace.arrivals.push_back({.pod = pod});
  const auto placer = sim::policy_placer(policy_of({}));
  const Replayed replayed = run(trace, *placer);
  for (const sim::ArrivalOutcome& outcome : replayed.outcomes) {
    EXPECT_EQ(outcome.node.has_value(), outcome.arrival < 2) << trace.pods[outcome.arrival].name;
  }
}

TEST(ReplayTest, ModelsThatAGlobTakesForOneAreTwo) {
  sim::Trace trace;
  for (const std::string model : {"NVIDIA-A10", "A10", "a10", "A10-SHARED", "A10-MIG-1g.5gb"}) {
    trace.nodes.push_back(
        {.name = model, .cpu_milli = 1, .memory_mib = 1, .gpus = 2, .model = model});
    trace.pods.push_back({.name = model, .gpus = 2, .gpu_milli = 1000, .models = {model}});
  }
  for (std::size_t pod = trace.pods.size(); pod-- > 0;) trace.arrivals.push_back({.pod = pod});
  for (std::size_t pod = 0; pod < trace.pods.size(); ++pod) trace.arrivals.push_back({.pod = pod});
  const auto placer = sim::policy_placer(policy_of({{score::find_term("best-fit"), 1}}));
  const Replayed replayed = run(trace, *placer);
  ASSERT_EQ(replayed.outcomes.size(), 10U);
  for (std::size_t i = 0; i < replayed.outcomes.size(); ++i) {
    const std::size_t pod = trace.arrivals[i].pod;
    const std::optional<std::size_t> expected = i < 5 ? std::optional(pod) : std::nullopt;
    EXPECT_EQ(replayed.outcomes[i].node, expected) << trace.pods[pod].name << " at " << i;
  }
}

/// A policy's, that tells how much it has learned of churn.
class ChurnTellingPlacer final : public sim::Placer {
 public:
  void pod_arrived(const sim::ArrivingPod& arriving, ledger::Ledger& ledger) override {
    placer_->pod_arrived(arriving, ledger);
    churn = ledger.snapshot()->demand->churn;
  }
  std::optional<base::NodeIndex> choose_node(const sim::ArrivingPod& arriving,
                                             std::span<const base::NodeIndex> candidates,
                                             ledger::Ledger& ledger) override {
    return placer_->choose_node(arriving, candidates, ledger);
  }
  void commit(const sim::ArrivingPod& arriving, base::NodeIndex node,
              ledger::Ledger& ledger) override {
    placer_->commit(arriving, node, ledger);
  }
  void pod_left(std::string_view uid, ledger::Ledger& ledger) override {
    placer_->pod_left(uid, ledger);
  }

  int churn = 0;

 private:
  std::unique_ptr<sim::Placer> placer_ = sim::policy_placer(policy_of({}));
};

TEST(ReplayTest, APolicyLearnsOfThePodsThatLeaveAndNotOfThoseRefused) {
  sim::Trace trace;
  trace.nodes = {{.name = "n", .cpu_milli = 1000, .memory_mib = 10, .gpus = 2, .model = "A"}};
  trace.pods = {{.name = "p", .gpus = 1, .gpu_milli = 500}};
  for (const auto& [lifetime, churn] : std::vector<std::pair<std::optional<double>, int>>{
           {2, model::Demand::kFullChurn}, {1000, 0}, {std::nullopt, 0}}) {
    trace.arrivals.assign(300, {.pod = 0, .lifetime = lifetime});
    ChurnTellingPlacer placer;
    EXPECT_EQ(run(trace, placer).outcomes.size(), 300U);
    EXPECT_EQ(placer.churn, churn) << lifetime.value_or(-1);
  }
}

TEST(ReplayTest, WhatIsKnownIsSaidOnceAndNothingIsLearned) {
  Random random(3);
  const sim::Trace trace = draw_trace(random, true);
  int asked = 0;
  const auto placer = sim::policy_placer(policy_of({{score::find_term("fgd"), 1}}),
                                         [&](const demand::Supply& supply) {
                                           ++asked;
                                           EXPECT_EQ(supply.gpus, trace.gpu_count());
                                           return model::Demand{};
                                         });
  EXPECT_EQ(run(trace, *placer).outcomes.size(), trace.arrivals.size());
  EXPECT_EQ(asked, 1);
}

TEST(ReplayTest, APodThatHasLeftByItsTimeMakesRoom) {
  struct Row {
    double lifetime;
    std::vector<bool> placed;  // of pods of which one at a time has room
  };
  for (const Row& row : std::vector<Row>{{0, {true, true, true, true, true}},
                                         {1, {true, true, true, true, true}},
                                         {1.5, {true, false, true, false, true}},
                                         {2, {true, false, true, false, true}},
                                         {2.001, {true, false, false, true, false}},
                                         {99, {true, false, false, false, false}}}) {
    sim::Trace trace;
    trace.nodes = {{.name = "n", .cpu_milli = 1000, .memory_mib = 10, .gpus = 1, .model = "A"}};
    trace.pods = {{.name = "p", .gpus = 1, .gpu_milli = 501}};
    for (int i = 0; i < 5; ++i) trace.arrivals.push_back({0, row.lifetime});
    BestFitPlacer placer;
    std::vector<bool> placed;
    for (const sim::ArrivalOutcome& outcome : run(trace, placer).outcomes) {
      placed.push_back(outcome.node.has_value());
    }
    EXPECT_EQ(placed, row.placed) << row.lifetime;
  }
}

TEST(ReplayTest, OfNothingDividesByNothing) {
  const sim::TraceNode plain{
      .name = "n", .cpu_milli = 1000, .memory_mib = 10, .gpus = 0, .model = ""};
  const sim::TracePod cpu{.name = "c", .cpu_milli = 600};
  const sim::TracePod share{.name = "s", .gpus = 1, .gpu_milli = 500};
  struct Row {
    std::string_view why;
    std::vector<sim::TraceNode> nodes;
    std::vector<sim::TracePod> pods;
    std::vector<sim::Arrival> arrivals;
  };
  for (const Row& row :
       std::vector<Row>{{"nothing", {}, {}, {}},
                        {"no arrivals", {plain}, {cpu}, {}},
                        {"no nodes", {}, {cpu, share}, {{0, {}}, {1, {}}}},
                        {"no nodes, churn", {}, {cpu, share}, {{0, 1}, {1, 1}, {1, 2}}},
                        {"no GPUs", {plain}, {cpu, share}, {{0, {}}, {1, {}}, {0, {}}}},
                        {"no GPUs, churn", {plain}, {cpu, share}, {{0, 1}, {1, 1}, {0, 1}}},
                        {"one arrival, churn", {plain}, {cpu}, {{0, 1}}}}) {
    SCOPED_TRACE(row.why);
    const sim::Trace trace{row.nodes, row.pods, row.arrivals};
    BestFitPlacer best_fit;
    const auto by_policy = sim::policy_placer(policy_of({{score::find_term("fgd"), 1}}));
    for (sim::Placer* placer : {static_cast<sim::Placer*>(&best_fit), by_policy.get()}) {
      const Replayed replayed = run(trace, *placer);
      NaiveRun naive(trace);
      const sim::SimulationReport expected = naive.run(naive_choice);
      expect_same(replayed.outcomes, naive.outcomes());
      expect_same(replayed.report, expected);
      EXPECT_EQ(replayed.report.final_allocation, std::nullopt) << "of no GPUs there are no parts";
    }
  }
}

}  // namespace
}  // namespace snug::replay_test
