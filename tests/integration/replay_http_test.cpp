// The same pods through the simulator and, over HTTP, through the whole program: every pod must
// come to the same node and the same GPUs, or be refused by both. The test does kube-scheduler's
// part: it offers the nodes that have enough CPU and memory, and binds to the one that is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "integration/replay_extender.hpp"
#include "sim/trace_conversion.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"
#include "snug/sim/replay.hpp"
#include "snug/sim_codec/trace_codec.hpp"
#include "support/source_file.hpp"

namespace snug::testing::replay_http_test {
namespace {

#ifdef SNUG_SANITIZED
constexpr int kArrivals = 500;
constexpr std::size_t kChurningNodes = 15;
#else
constexpr int kArrivals = 2'000;
constexpr std::size_t kChurningNodes = 60;
#endif
constexpr double kChurningLoad = 1.15;  // asked for, of the GPUs there are

std::string text_of(const std::string& path) {
  return config::read_file(path, base::kMaxTraceBytes).value();
}

/// The first of the arrivals of this name.
sim::Trace openb(const std::string& arrivals) {
  const std::string folder = source_file("bench/packing/openb/");
  const std::string nodes = text_of(folder + "openb_node_list_gpu_node.csv");
  const std::string pods = text_of(folder + "openb_pod_list_default.csv");
  const std::string order = text_of(folder + "arrivals/" + arrivals + ".txt");
  const base::Limits limits;
  sim::Trace trace;
  trace.nodes = sim_codec::read_trace_nodes({nodes, "nodes"}, limits).value();
  trace.pods = sim_codec::read_trace_pods({pods, "pods"}, limits).value();
  EXPECT_TRUE(sim_codec::read_trace_arrivals({order, arrivals}, trace));
  trace.arrivals.resize(static_cast<std::size_t>(kArrivals));
  return trace;
}

/// A cluster that fills up, and none leaves.
sim::Trace filling() { return openb("default.42"); }

/// A small cluster in balance: lifetimes are cut so that somewhat more is asked for than there is,
/// and some find no room.
sim::Trace churning() {
  sim::Trace trace = openb("default-churn95.42");
  trace.nodes.resize(kChurningNodes);
  double milli = 0;  // that live at a time, in the mean
  for (const sim::Arrival& arrival : trace.arrivals) {
    milli += static_cast<double>(trace.pods[arrival.pod].milli()) * arrival.lifetime.value_or(0) /
             kArrivals;
  }
  const double factor = kChurningLoad * 1000.0 * static_cast<double>(trace.gpu_count()) / milli;
  for (sim::Arrival& arrival : trace.arrivals)
    arrival.lifetime = factor * arrival.lifetime.value_or(0);
  return trace;
}

std::vector<sim::ArrivalOutcome> simulated(const sim::Trace& trace,
                                           const std::string& policy_file) {
  const base::Limits limits;
  auto policy = codec::read_policy(text_of(policy_file), policy_file, limits);
  std::vector<sim::ArrivalOutcome> outcomes;
  const base::SteadyClock clock;
  const auto placer =
      sim::policy_placer(std::make_shared<const score::Policy>(std::move(policy).value()));
  (void)sim::replay(
      {.trace = trace,
       .clock = clock,
       .on_outcome = [&](const sim::ArrivalOutcome& outcome) { outcomes.push_back(outcome); }},
      *placer);
  return outcomes;
}

struct Seen {
  int refused = 0;
  int left = 0;
  int without_gpu = 0;
};

/// Replays a trace through the program, beside what the simulator decided.
class HttpReplay {
 public:
  HttpReplay(const sim::Trace& trace, const std::string& policy_file)
      : trace_(trace), expected_(simulated(trace, policy_file)), extender_(trace, policy_file) {
    for (const sim::TraceNode& node : trace.nodes) left_.push_back(sim::host_resources_of(node));
  }

  void run() {
    ASSERT_EQ(expected_.size(), trace_.arrivals.size());
    for (std::size_t arrival = 0; arrival < trace_.arrivals.size(); ++arrival) {
      leave_before(arrival);
      arrive(arrival);
      if (::testing::Test::HasFailure()) return;  // the first difference; later ones follow from it
    }
    compare_reservations();
  }

  Seen seen;

 private:
  [[nodiscard]] const sim::TracePod& pod_of(std::size_t arrival) const {
    return trace_.pods[trace_.arrivals[arrival].pod];
  }

  void leave_before(std::size_t arrival) {
    while (!leaving_.empty() && leaving_.begin()->first <= static_cast<double>(arrival)) {
      const std::size_t gone = leaving_.begin()->second;
      leaving_.erase(leaving_.begin());
      model::HostResources& left =
          left_[expected_[gone].node.value_or(0)];  // only placed ones leave
      left.cpu_milli += sim::host_resources_of(pod_of(gone)).cpu_milli;
      left.memory_bytes += sim::host_resources_of(pod_of(gone)).memory_bytes;
      extender_.end(gone);
      living_.erase(sim::arrival_uid(gone));
      ++seen.left;
    }
  }

  [[nodiscard]] std::vector<std::size_t> nodes_with_room(const model::HostResources& asked) const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      const model::HostResources& left = left_[rank];
      if (asked.cpu_milli <= left.cpu_milli && asked.memory_bytes <= left.memory_bytes) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  void arrive(std::size_t arrival) {
    const model::HostResources host = sim::host_resources_of(pod_of(arrival));
    const std::vector<std::size_t> asked = nodes_with_room(host);
    const bool gpu = pod_of(arrival).gpus > 0;
    const PlacedAt extender = gpu ? place(arrival, asked) : pass(arrival, asked);
    const PlacedAt simulator{expected_[arrival].node, expected_[arrival].gpus};
    ASSERT_EQ(extender, simulator) << "arrival " << arrival << ", pod " << pod_of(arrival).name
                                   << ", of " << asked.size() << " nodes with room; " << refusal_;
    if (!extender.node) {
      ++seen.refused;
      extender_.end(arrival);
      return;
    }
    left_[*extender.node].cpu_milli -= host.cpu_milli;
    left_[*extender.node].memory_bytes -= host.memory_bytes;
    if (gpu) living_.emplace(sim::arrival_uid(arrival), extender);
    if (const auto& lifetime = trace_.arrivals[arrival].lifetime) {
      leaving_.emplace(static_cast<double>(arrival) + *lifetime, arrival);
    }
  }

  /// By filter, then bind; what counts is what the pod holds in the end.
  PlacedAt place(std::size_t arrival, const std::vector<std::size_t>& asked) {
    const Filtered filtered = extender_.filter(arrival, asked);
    refusal_ = filtered.reason;
    if (filtered.kept.empty()) {
      EXPECT_EQ(filtered.refused, asked.size()) << "every node must have its reason";
      return {};
    }
    EXPECT_EQ(filtered.kept.size(), 1) << "there is one winner";
    const auto winner = std::ranges::find(asked, filtered.kept.front(), sim::node_name_of_rank);
    if (winner == asked.end()) {
      ADD_FAILURE() << "arrival " << arrival << ": " << filtered.kept.front() << " was not asked";
      return {};
    }
    extender_.bind(arrival, *winner);
    return {*winner, extender_.gpus_held(arrival, *winner)};
  }

  /// A pod without GPUs is another's business, and goes where the simulator put it: Snug lets it
  /// pass, binds it and counts what it takes of the node.
  PlacedAt pass(std::size_t arrival, const std::vector<std::size_t>& asked) {
    ++seen.without_gpu;
    EXPECT_EQ(extender_.filter(arrival, asked).kept.size(), asked.size());
    const std::optional<std::size_t> node = expected_[arrival].node;
    if (node) extender_.bind(arrival, *node);
    return {node, {}};
  }

  void compare_reservations() {
    const std::map<std::string, PlacedAt> held = extender_.reservations();
    EXPECT_EQ(held.size(), living_.size());
    for (const auto& [pod, placed] : living_) {
      const auto found = held.find(pod);
      ASSERT_NE(found, held.end()) << pod << " lives, and is not listed";
      ASSERT_EQ(found->second, placed) << "what the reservation of " << pod << " says";
    }
  }

  const sim::Trace& trace_;
  std::vector<sim::ArrivalOutcome> expected_;
  ReplayExtender extender_;
  std::string refusal_;                               // what filter said last, where it refused
  std::vector<model::HostResources> left_;            // of the nodes, by rank
  std::set<std::pair<double, std::size_t>> leaving_;  // when, who
  std::map<std::string, PlacedAt> living_;            // GPU pods
};

class ReplayHttpTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string policy_file() { return source_file("policies/") + GetParam() + ".yaml"; }
};

TEST_P(ReplayHttpTest, AFillingClusterIsPackedAsTheSimulatorPacksIt) {
  const sim::Trace trace = filling();
  HttpReplay replay(trace, policy_file());
  replay.run();
  if (HasFailure()) return;
  EXPECT_GT(replay.seen.without_gpu, kArrivals / 20);
}

TEST_P(ReplayHttpTest, AChurningClusterIsPackedAsTheSimulatorPacksIt) {
  const sim::Trace trace = churning();
  HttpReplay replay(trace, policy_file());
  replay.run();
  if (HasFailure()) return;
  EXPECT_GT(replay.seen.left, kArrivals / 2);
  EXPECT_GT(replay.seen.refused, kArrivals / 40);
  EXPECT_GT(replay.seen.without_gpu, kArrivals / 20);
}

INSTANTIATE_TEST_SUITE_P(Policies, ReplayHttpTest, ::testing::Values("tight", "best-fit"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace snug::testing::replay_http_test
