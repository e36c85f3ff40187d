// Replays of pods that ask for slices, with others among them.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "naive_slices.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/sim/replay.hpp"
#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug::replay_slices_test {
namespace {

sim::TraceNode node_of(const std::string& model, bool mig, int gpus) {
  return {.name = model,
          .cpu_milli = 1,
          .memory_mib = 1,
          .gpus = gpus,
          .model = model,
          .mig_card = mig ? mig::find_mig_card(model, {}) : nullptr};
}

/// Of the profile as the first node has it.
sim::TracePod pod_asking(const sim::Trace& trace, const std::string& name) {
  for (const sim::TraceNode& node : trace.nodes) {
    if (node.mig_card == nullptr) continue;
    const NaiveCard& card = naive_cards().at(node.model);
    for (const NaiveProfile& profile : card.profiles) {
      if (profile.name != name) continue;
      return {.name = name,
              .gpus = 1,
              .gpu_milli = 1000 * profile.size / card.axis,
              .mig_profile = name,
              .mig_slices = profile.size};
    }
  }
  ADD_FAILURE() << name;
  return {};
}

sim::Trace draw_trace(Random& random, bool churns) {
  sim::Trace trace;
  std::vector<std::string> names;
  const std::vector<std::string> models{"A100-40GB", "A100-80GB", "A30"};
  for (std::int64_t i = random.from_to(1, 4); i > 0; --i) {
    const std::string& model = random.pick(models);
    trace.nodes.push_back(node_of(model, true, static_cast<int>(random.from_to(1, 3))));
    for (const NaiveProfile& profile : naive_cards().at(model).profiles) {
      names.push_back(profile.name);
    }
  }
  if (random.one_in(2)) trace.nodes.push_back(node_of("T4", false, 2));
  for (int i = 0; i < 8; ++i) trace.pods.push_back(pod_asking(trace, random.pick(names)));
  const bool mixed = random.one_in(2);
  for (const int milli : {125, 126, 250, 500, 501, 1000}) {
    if (mixed) trace.pods.push_back({.name = "share", .gpus = 1, .gpu_milli = milli});
  }
  for (std::int64_t i = random.from_to(1, 80); i > 0; --i) {
    sim::Arrival arrival{
        .pod = static_cast<std::size_t>(random.draw(static_cast<std::int64_t>(trace.pods.size())))};
    if (churns) arrival.lifetime = static_cast<double>(random.draw(60)) / 2;
    trace.arrivals.push_back(arrival);
  }
  return trace;
}

score::PolicyPtr policy_of(std::vector<score::WeightedTerm> terms) {
  auto policy = std::make_shared<score::Policy>();
  policy->default_profile_name = "a";
  policy->profiles.emplace("a", score::Profile{"a", std::move(terms), 1});
  return policy;
}

struct Replayed {
  sim::SimulationReport report;
  std::vector<sim::ArrivalOutcome> outcomes;
};

Replayed run(const sim::Trace& trace, const score::PolicyPtr& policy) {
  Replayed replayed;
  const base::ManualClock clock;
  const auto watcher = [&](const sim::ArrivalOutcome& outcome) {
    replayed.outcomes.push_back(outcome);
  };
  const auto placer = sim::policy_placer(policy);
  replayed.report = sim::replay({.trace = trace, .clock = clock, .on_outcome = watcher}, *placer);
  return replayed;
}

struct Part {
  int of = 0;
  int all = 0;
  [[nodiscard]] std::optional<double> percent() const {
    if (all == 0) return std::nullopt;
    return 100.0 * of / all;
  }
};

/// Goes through the outcomes again, and counts for itself.
class Recount {
 public:
  Recount(const sim::Trace& trace, const std::vector<sim::ArrivalOutcome>& outcomes)
      : trace_(trace), outcomes_(outcomes), cluster_(trace) {}

  void run() {
    for (std::size_t t = 0; t < outcomes_.size(); ++t) {
      const auto [first, last] = leaving_.equal_range(t);
      for (auto gone = first; gone != last; ++gone) {
        cluster_.give_back(pod_of(gone->second), outcomes_[gone->second]);
      }
      arrive(t);
    }
  }

  void expect(const sim::SimulationReport& report) {
    EXPECT_EQ(report.rejected.share, share_);
    EXPECT_EQ(report.rejected.one, one_);
    ASSERT_EQ(report.mig.has_value(), asked_.all > 0);
    if (!report.mig) return;
    EXPECT_NEAR(report.mig->memory_slices_pct,
                trace_.churns() ? late_sum_ / late_ : cluster_.taken_pct(), 1e-9);
    EXPECT_NEAR(report.mig->rejected_pct, asked_.percent().value(), 1e-9);
    ASSERT_EQ(report.mig->rejected_4_slices_or_more_pct.has_value(), much_.all > 0);
    if (much_.all == 0) return;
    EXPECT_NEAR(*report.mig->rejected_4_slices_or_more_pct, *much_.percent(), 1e-9);
  }

 private:
  [[nodiscard]] const sim::TracePod& pod_of(std::size_t arrival) const {
    return trace_.pods.at(trace_.arrivals[arrival].pod);
  }

  void arrive(std::size_t t) {
    const sim::TracePod& pod = pod_of(t);
    const sim::ArrivalOutcome& outcome = outcomes_[t];
    EXPECT_EQ(outcome.node.has_value(), cluster_.fits(pod)) << "arrival " << t << ": " << pod.name;
    if (outcome.node) {
      cluster_.take(pod, outcome);
      if (const auto lifetime = trace_.arrivals[t].lifetime) {
        std::size_t gone = t + 1;
        while (static_cast<double>(gone) < static_cast<double>(t) + *lifetime) ++gone;
        leaving_.emplace(gone, t);
      }
    } else {
      ++(pod.gpu_milli < 1000 ? share_ : one_);
    }
    if (trace_.churns() && 2 * t <= trace_.arrivals.size()) return;
    late_sum_ += cluster_.taken_pct();
    ++late_;
    if (pod.mig_profile.empty()) return;
    ++asked_.all;
    asked_.of += outcome.node ? 0 : 1;
    if (pod.mig_slices < 4) return;
    ++much_.all;
    much_.of += outcome.node ? 0 : 1;
  }

  const sim::Trace& trace_;
  const std::vector<sim::ArrivalOutcome>& outcomes_;
  NaiveSlices cluster_;
  std::multimap<std::size_t, std::size_t> leaving_;  // arrivals, by that before which they leave
  int share_ = 0;
  int one_ = 0;
  double late_sum_ = 0;
  int late_ = 0;
  Part asked_;
  Part much_;
};

TEST(ReplaySlicesTest, SlicesGoTogetherAndTheFiguresAreThoseOfARecount) {
  std::vector<score::WeightedTerm> all;
  for (const score::TermRow& term : score::all_terms())
    all.push_back({&term, score::ByRegime({.filling = 10, .churning = 300, .saturated = 300})});
  const std::vector<score::PolicyPtr> policies{policy_of({{score::find_term("best-fit"), 1}}),
                                               policy_of({{score::find_term("slice-value"), 1}}),
                                               policy_of(all), policy_of({})};
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const sim::Trace trace = draw_trace(random, seed % 2 == 1);
    const Replayed replayed = run(trace, policies[seed / 2 % policies.size()]);
    ASSERT_EQ(replayed.outcomes.size(), trace.arrivals.size());
    Recount recount(trace, replayed.outcomes);
    recount.run();
    recount.expect(replayed.report);
    rejected += static_cast<int>(replayed.report.rejected.share);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(rejected, 1000);
}

/// A name that is 2 memory slices of one card and 1 of another.
TEST(ReplaySlicesTest, MemorySlicesAreThoseOfTheCardThatHasThem) {
  sim::Trace trace;
  trace.nodes = {node_of("A100-40GB", true, 1), node_of("A100-80GB", true, 1)};
  trace.pods = {pod_asking(trace, "1g.10gb")};
  trace.arrivals.assign(12, {.pod = 0});
  const Replayed replayed = run(trace, policy_of({}));
  EXPECT_EQ(replayed.report.accepted, 11) << "4 of the one, 7 of the other";
  ASSERT_TRUE(replayed.report.mig.has_value());
  EXPECT_DOUBLE_EQ(replayed.report.mig->memory_slices_pct, 100.0 * 15 / 16);
  EXPECT_DOUBLE_EQ(replayed.report.final_allocation.value(), 100.0 * 15 / 16);
}

TEST(ReplaySlicesTest, AShareOnAGpuInMigModeTakesMemorySlicesToo) {
  sim::Trace trace;
  trace.nodes = {node_of("A100-40GB", true, 1)};
  trace.pods = {pod_asking(trace, "3g.20gb"), {.name = "s", .gpus = 1, .gpu_milli = 250}};
  trace.arrivals = {{.pod = 0}, {.pod = 1}};
  const Replayed replayed = run(trace, policy_of({}));
  ASSERT_TRUE(replayed.report.mig.has_value());
  EXPECT_DOUBLE_EQ(replayed.report.mig->memory_slices_pct, 75);
}

}  // namespace
}  // namespace snug::replay_slices_test
