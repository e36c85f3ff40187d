// How long a decision takes without HTTP: plan over all nodes, and reserve + snapshot as one bind
// and the next filter see them. Run: build/dev/bench/plan_bench
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "snug/ledger/ledger.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

NodeInventory node_of(int number, int gpus) {
  NodeInventory node;
  node.name = "gpu-node-" + std::to_string(100000 + number) + ".cluster.local";
  for (int i = 0; i < gpus; ++i) {
    node.gpus.push_back({.index = i,
                         .uuid = "GPU-" + std::to_string(number * 100 + i),
                         .model = "NVIDIA-A100-SXM4-40GB",
                         .memory = {40960},
                         .modes = {GpuMode::kWhole, GpuMode::kTimeSlicing}});
  }
  return node;
}

GpuRequest quarter() {
  GpuRequest request;
  request.main_container = "main";
  request.containers.push_back(
      {.container = "main", .ask = FractionAsk{250}, .text = "gpu-fraction=0.25"});
  return request;
}

Profile profile_of(const char* term) { return {term, {{find_term(term), 1}}}; }

struct Cluster {
  explicit Cluster(int nodes) : ledger(clock, limits) {
    for (int i = 0; i < nodes; ++i) {
      NodeInventory node = node_of(i, 8);
      names.push_back(node.name);
      ledger.put_node(std::move(node));
    }
    std::mt19937_64 random(42);
    std::vector<std::size_t> order(names.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) shuffled.emplace_back(names[i]);
    // Half of the cluster is taken.
    for (int pod = 0; pod < nodes * 16; ++pod) {
      const std::string uid = "uid-" + std::to_string(pod);
      const auto held = ledger.reserve({.name_space = "default",
                                        .pod = uid,
                                        .uid = uid,
                                        .node = names[random() % names.size()],
                                        .request = request,
                                        .profile = profile});
      if (held) ledger.bound(uid);
    }
  }

  SteadyClock clock;
  Limits limits;
  Ledger ledger;
  GpuRequest request = quarter();
  Profile profile = profile_of("best-fit");
  std::vector<std::string> names;
  std::vector<std::string_view> shuffled;
};

void plan_all_nodes(benchmark::State& state) {
  Cluster cluster(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const SnapshotPtr snapshot = cluster.ledger.snapshot();
    benchmark::DoNotOptimize(plan({.snapshot = *snapshot,
                                   .request = cluster.request,
                                   .profile = cluster.profile,
                                   .pod_uid = "pod"},
                                  cluster.shuffled));
  }
}
BENCHMARK(plan_all_nodes)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(5000)
    ->Arg(20000)
    ->Unit(benchmark::kMicrosecond);

void reserve_release_snapshot(benchmark::State& state) {
  Cluster cluster(static_cast<int>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string uid = "extra";
    const auto held = cluster.ledger.reserve({.name_space = "default",
                                              .pod = uid,
                                              .uid = uid,
                                              .node = cluster.names[next],
                                              .request = cluster.request,
                                              .profile = cluster.profile});
    benchmark::DoNotOptimize(cluster.ledger.snapshot());
    if (held) cluster.ledger.release(uid);
    next = (next + 7) % cluster.names.size();
  }
}
BENCHMARK(reserve_release_snapshot)
    ->Arg(1000)
    ->Arg(5000)
    ->Arg(20000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace snug
