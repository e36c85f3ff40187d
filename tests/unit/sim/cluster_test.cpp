#include "snug/sim/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snug/codec/policy_codec.hpp"
#include "snug/mig/card_catalog.hpp"
#include "support/random.hpp"
#include "support/test_objects.hpp"

namespace snug::cluster_test {
namespace {

score::PolicyPtr policy_of(const std::string& yaml) {
  auto policy = codec::read_policy(yaml, "p.yaml", base::Limits{});
  return policy ? std::make_shared<const score::Policy>(*std::move(policy)) : nullptr;
}

score::PolicyPtr best_fit() {
  return policy_of(
      "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: best-fit, weight: 1}]}}\n");
}

sim::Cluster cluster_of(const std::vector<std::string>& nodes) {
  sim::Cluster cluster;
  for (const std::string& node : nodes) cluster.nodes.push_back({make_node(node), {}});
  return cluster;
}

sim::ClusterPod& add_pod(sim::Cluster& cluster, model::PodFacts facts) {
  facts.uid = facts.name;
  return cluster.pods.emplace_back(
      sim::ClusterPod{std::make_shared<const service::PodInfo>(std::move(facts)), {}, nullptr});
}

void add_pods(sim::Cluster& cluster, int count, const model::StringMap& annotations) {
  for (int i = 0; i < count; ++i)
    add_pod(cluster, make_pod("p" + std::to_string(cluster.pods.size()), annotations));
}

sim::SimulationReport simulate(const sim::Cluster& cluster, score::PolicyPtr policy = best_fit()) {
  const base::ManualClock clock;
  return sim::simulate_cluster(
      {.cluster = cluster, .policy = std::move(policy), .clock = clock, .on_pod = {}});
}

std::vector<std::string> nodes_of(const sim::SimulationReport& report) {
  std::vector<std::string> nodes;
  for (const sim::PodOutcome& pod : report.cluster->pods)
    nodes.push_back(pod.node.empty() ? pod.refusal_code : pod.node);
  return nodes;
}

std::int64_t free_gpus(const sim::SimulationReport& report) {
  return report.cluster->simulated.free;
}

using Nodes = std::vector<std::string>;

TEST(ClusterTest, SharesThatAreScatteredNowFitOnFewGpus) {
  sim::Cluster cluster = cluster_of({"a: T4 1000 x2", "b: T4 1000 x2"});
  for (const char* node : {"a", "b"}) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      add_pods(cluster, 1, {{"gpu-fraction", "0.25"}});
      sim::ClusterPod& pod = cluster.pods.back();
      pod.holding = make_holding(pod.info->facts.uid, node, {make_share(gpu, 250, 250)});
    }
  }
  const sim::SimulationReport report = simulate(cluster);
  EXPECT_EQ(report.cluster->now, (sim::GpuCounts{.gpus = 4, .in_use = 4, .reserved_milli = 1000}));
  EXPECT_EQ(
      report.cluster->simulated,
      (sim::GpuCounts{
          .gpus = 4, .in_use = 1, .free = 3, .most_free_on_a_node = 2, .reserved_milli = 1000}));
  EXPECT_EQ(report.accepted, 4);
  EXPECT_EQ(report.cluster->pods[3].node_now, "b");
  EXPECT_EQ(nodes_of(report), (Nodes{"a", "a", "a", "a"}));
  EXPECT_EQ(report.cluster->pods[0].gpus, std::vector<int>{0});
  EXPECT_EQ(report.curve.front(), (sim::CurvePoint{0, 4}));
  EXPECT_EQ(report.curve.back(), (sim::CurvePoint{4, 3}));
  EXPECT_EQ(report.reference.back(), (sim::CurvePoint{4, 0}));
}

TEST(ClusterTest, UnitsOfTheKubeletUseGpus) {
  sim::Cluster cluster =
      cluster_of({"a: T4 1000 x4 | nvidia.com/gpu=4/4", "b: T4 1000 x2 | nvidia.com/gpu=1/2",
                  "c: T4 1000 x2 unhealthy", "d: | nvidia.com/gpu=8/8"});
  add_pod(cluster, make_pod("plain")).holding = make_units_holding("plain", "a", 3);
  EXPECT_EQ(sim::count_gpus_now(cluster, base::ManualClock{}),
            (sim::GpuCounts{.gpus = 16,
                            .in_use = 3,
                            .free = 10,
                            .closed = 3,
                            .most_free_on_a_node = 8,
                            .reserved_milli = 3000}));
}

TEST(ClusterTest, GpusInMigModeAreCountedApart) {
  sim::Cluster cluster = cluster_of({"a: A100-SXM4-40GB 40960 x2 mig | dynamic", "b: T4 1000"});
  for (sim::ClusterNode& node : cluster.nodes) {
    for (model::GpuInfo& gpu : node.inventory.gpus) {
      if (gpu.mig_enabled) gpu.mig_table = mig::find_mig_card("A100-40GB", {})->table;
    }
  }
  add_pods(cluster, 1, {{"gpu-mig-profile", "1g.5gb"}});
  const sim::SimulationReport report = simulate(cluster);
  EXPECT_EQ(report.cluster->now,
            (sim::GpuCounts{.gpus = 3, .free = 1, .free_mig = 2, .most_free_on_a_node = 1}));
  EXPECT_EQ(report.cluster->simulated, (sim::GpuCounts{.gpus = 3,
                                                       .in_use = 1,
                                                       .free = 1,
                                                       .free_mig = 1,
                                                       .most_free_on_a_node = 1,
                                                       .reserved_milli = 125}));
}

TEST(ClusterTest, RefusalsSayWhy) {
  sim::Cluster cluster = cluster_of({"a: T4 1000", "b: T4 1000"});
  for (sim::ClusterNode& node : cluster.nodes)
    node.inventory.host = {.resources = {4000, 1 << 30}, .pod_slots = 10, .known = true};
  cluster.nodes[1].traits.labels = {{"zone", "b"}};
  const auto holding = make_holding("cpu", "a", {});
  holding->reservation.containers.clear();
  holding->host = {.cpu_milli = 3000};
  cluster.staying.push_back(holding);

  model::PodFacts large_cpu = make_pod("large-cpu", {{"gpu-fraction", "0.5"}});
  large_cpu.containers.front().host.cpu_milli = 2000;
  add_pod(cluster, large_cpu);  // only b has 2 cores left
  large_cpu.name = "too-large-cpu";
  large_cpu.containers.front().host.cpu_milli = 3000;
  add_pod(cluster, large_cpu);
  add_pod(cluster, make_pod("elsewhere", {{"gpu-fraction", "0.1"}})).selection.node_selector = {
      {"zone", "c"}};
  add_pod(cluster, make_pod("in-b", {{"gpu-fraction", "0.6"}})).selection.node_selector = {
      {"zone", "b"}};
  add_pod(cluster, make_pod("typo", {{"gpu-fraction", "x"}}));
  add_pod(cluster, make_pod("policy", {{"gpu-fraction", "0.1"}, {"gpu-policy", "spread"}}));
  add_pod(cluster, make_pod("pair", {{"gpu-fraction", "2"}}));
  const sim::SimulationReport report = simulate(cluster);
  EXPECT_EQ(nodes_of(report), (Nodes{"b", "NodeResources", "NodeSelection", "NoRoom", "Malformed",
                                     "ForbiddenPolicy", "TooLarge"}));
  EXPECT_EQ(report.accepted, 1);
  EXPECT_EQ(report.rejected.multi, 1);
  EXPECT_EQ(report.rejected.share, 4);
  for (const sim::PodOutcome& pod : report.cluster->pods)
    EXPECT_EQ(pod.refusal.empty(), !pod.node.empty()) << pod.pod;
}

TEST(ClusterTest, PodsOfTheOldSchedulerThatOnlyKeepGpusLeave) {
  sim::Cluster cluster = cluster_of({"a: T4 1000 x2 | nvidia.com/gpu=2"});
  cluster.leaving.push_back(make_units_holding("placeholder", "a", 1));
  add_pods(cluster, 1, {{"gpu-fraction", "0.5"}});
  const sim::SimulationReport report = simulate(cluster);
  EXPECT_EQ(report.cluster->now.in_use, 1);
  EXPECT_EQ(nodes_of(report), Nodes{"a"});
}

TEST(ClusterTest, RulesOfThePolicyHoldForEachNamespace) {
  sim::Cluster cluster = cluster_of({"a: T4 1000 x4"});
  for (const char* name_space : {"capped", "capped", "free", "free"}) {
    model::PodFacts pod =
        make_pod("p" + std::to_string(cluster.pods.size()), {{"gpu-fraction", "1"}});
    pod.name_space = name_space;
    add_pod(cluster, pod);
  }
  const auto policy = policy_of(
      "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: best-fit, weight: 1}]}}\n"
      "sharing: [{namespaces: [capped], capMilli: 1000}]\n");
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(nodes_of(simulate(cluster, policy)), (Nodes{"a", "CapReached", "a", "a"}));
}

TEST(ClusterTest, ANodeHasRoomForItsNumberOfPods) {
  sim::Cluster cluster = cluster_of({"a: T4 1000 x4"});
  cluster.nodes[0].inventory.host = {.resources = {4000, 1 << 30}, .pod_slots = 2, .known = true};
  add_pods(cluster, 3, {{"gpu-fraction", "0.1"}});
  EXPECT_EQ(nodes_of(simulate(cluster)), (Nodes{"a", "a", "NodeResources"}));
}

/// A cluster and pods with shares, wholes and units, of which some are bound.
sim::Cluster draw_cluster(Random& random) {
  sim::Cluster cluster;
  const std::int64_t nodes = random.from_to(1, 6);
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::string gpus = std::to_string(random.from_to(1, 4));
    sim::ClusterNode& node = cluster.nodes.emplace_back();
    node.inventory =
        make_node("n" + std::to_string(n) + ": T4 1000 x" + gpus + " | nvidia.com/gpu=" + gpus);
    node.inventory.host = {
        .resources = {random.from_to(1, 64) * 1000, 1LL << 40}, .pod_slots = 110, .known = true};
    if (random.one_in(4)) node.traits.taints.push_back({"gpu", "", "NoSchedule"});
  }
  const std::int64_t pods = random.from_to(0, 40);
  for (std::int64_t p = 0; p < pods; ++p) {
    model::PodFacts facts = make_pod("p" + std::to_string(p));
    const std::int64_t kind = random.draw(10);
    if (kind == 0) facts.containers.front().gpu_resources = {{"nvidia.com/gpu", "1"}};
    if (kind == 1) facts.annotations = {{"gpu-fraction", "nonsense"}};
    if (kind >= 2 && kind < 4)
      facts.annotations = {{"gpu-fraction", std::to_string(random.from_to(1, 4))}};
    if (kind >= 4) facts.annotations = {{"gpu-memory", std::to_string(random.from_to(1, 1100))}};
    facts.containers.front().host.cpu_milli = random.from_to(0, 16) * 500;
    sim::ClusterPod& pod = add_pod(cluster, facts);
    if (random.one_in(3)) pod.selection.tolerations = {{.exists = true}};
  }
  return cluster;
}

TEST(ClusterTest, EveryPodIsPlacedOrRefusedAndNoGpuIsOverCommitted) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const sim::Cluster cluster = draw_cluster(random);
    const sim::SimulationReport report = simulate(cluster);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto& outcomes = report.cluster->pods;
    ASSERT_EQ(outcomes.size(), cluster.pods.size());
    std::map<std::pair<std::string, int>, std::int64_t> used_memory;
    std::map<std::string, std::int64_t> used_cpu;
    std::int64_t placed = 0;
    std::int64_t refused = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const sim::PodOutcome& pod = outcomes[i];
      ASSERT_NE(pod.node.empty(), pod.refusal_code.empty()) << pod.pod;
      (pod.node.empty() ? refused : placed) += 1;
      if (pod.node.empty()) continue;
      const model::PodFacts& facts = cluster.pods[i].info->facts;
      used_cpu[pod.node] += facts.containers.front().host.cpu_milli;
      const auto memory = facts.annotations.find("gpu-memory");
      for (const int gpu : pod.gpus) {
        used_memory[{pod.node, gpu}] +=
            memory == facts.annotations.end() ? 1000 : std::stoll(memory->second);
      }
    }
    EXPECT_EQ(placed + refused, static_cast<std::int64_t>(cluster.pods.size()));
    EXPECT_EQ(report.accepted, placed);
    EXPECT_EQ(report.arrivals, placed + refused);
    for (const auto& [gpu, memory] : used_memory) EXPECT_LE(memory, 1000) << gpu.first;
    for (const sim::ClusterNode& node : cluster.nodes)
      EXPECT_LE(used_cpu[node.inventory.name], node.inventory.host.resources.cpu_milli);
    const sim::GpuCounts& counts = report.cluster->simulated;
    EXPECT_EQ(counts.in_use + counts.free + counts.free_mig + counts.closed, counts.gpus);
    const auto again = simulate(cluster);
    EXPECT_EQ(nodes_of(again), nodes_of(report));
    EXPECT_EQ(free_gpus(again), free_gpus(report));
  }
}

}  // namespace
}  // namespace snug::cluster_test
