// Measures how long decisions take without HTTP: a plan over all nodes, a reservation and the next
// snapshot, the choice of victims on one node, placements beside nominated pods, repacking advice,
// explanations, and the worst case of comparing GPU models. Run: build/dev/bench/plan_bench
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/explain/explain.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/plan/choose_victims.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

model::NodeInventory node_of(int number, int gpus) {
  model::NodeInventory node;
  node.name = "gpu-node-" + std::to_string(100000 + number) + ".cluster.local";
  for (int i = 0; i < gpus; ++i) {
    node.gpus.push_back({.index = i,
                         .uuid = "GPU-" + std::to_string(number * 100 + i),
                         .model = "NVIDIA-A100-SXM4-40GB",
                         .memory = {40960},
                         .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}});
  }
  return node;
}

model::GpuRequest quarter() {
  model::GpuRequest request;
  request.main_container = "main";
  request.containers.push_back(
      {.container = "main", .device = model::FractionRequest{250}, .text = "gpu-fraction=0.25"});
  return request;
}

score::Profile profile_of(const char* term) { return {term, {{score::find_term(term), 1}}}; }

struct Cluster {
  explicit Cluster(int nodes) : ledger(clock, limits) {
    for (int i = 0; i < nodes; ++i) {
      model::NodeInventory node = node_of(i, 8);
      names.push_back(node.name);
      ledger.put_node(std::move(node));
    }
    std::mt19937_64 random(42);
    std::vector<std::size_t> order(names.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) shuffled.emplace_back(names[i]);
    // These pods fill half of the cluster.
    for (int pod = 0; pod < nodes * 16; ++pod) {
      const std::string uid = "uid-" + std::to_string(pod);
      const model::PodRank rank{.uid = uid};
      const auto held = ledger.reserve(
          {.incoming = claim_of(rank), .pod = uid, .node = names[random() % names.size()]});
      if (held) ledger.mark_bound(uid);
    }
  }

  [[nodiscard]] plan::IncomingPod claim_of(const model::PodRank& rank) const {
    return {.name_space = "default",
            .rank = rank,
            .request = request,
            .profiles = profiles,
            .sharing = sharing};
  }

  base::SteadyClock clock;
  base::Limits limits;
  ledger::Ledger ledger;
  model::GpuRequest request = quarter();
  score::Profile profile = profile_of("best-fit");
  score::ProfileChoice profiles{profile};
  model::SharingRules sharing;
  std::vector<std::string> names;
  std::vector<std::string_view> shuffled;
};

void plan_all_nodes(benchmark::State& state) {
  Cluster cluster(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const model::SnapshotPtr snapshot = cluster.ledger.snapshot();
    const model::PodRank rank{.uid = "pod"};
    benchmark::DoNotOptimize(
        plan::plan({.snapshot = *snapshot, .incoming = cluster.claim_of(rank)}, cluster.shuffled));
  }
}
BENCHMARK(plan_all_nodes)->ArgsProduct({{100, 1000, 5000, 20000}})->Unit(benchmark::kMicrosecond);

void reserve_release_snapshot(benchmark::State& state) {
  Cluster cluster(static_cast<int>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string uid = "extra";
    const model::PodRank rank{.uid = uid};
    const auto held = cluster.ledger.reserve(
        {.incoming = cluster.claim_of(rank), .pod = uid, .node = cluster.names[next]});
    benchmark::DoNotOptimize(cluster.ledger.snapshot());
    if (held) cluster.ledger.release(uid);
    next = (next + 7) % cluster.names.size();
  }
}
BENCHMARK(reserve_release_snapshot)
    ->ArgsProduct({{1000, 5000, 20000}})
    ->Unit(benchmark::kMicrosecond);

/// Measures a plan for `request` over all of `nodes`, without a verdict cache.
void plan_cold(benchmark::State& state, std::vector<model::NodeInventory> nodes,
               const model::GpuRequest& request) {
  base::SteadyClock clock;
  const base::Limits limits;
  ledger::Ledger ledger(clock, limits);
  std::vector<std::string> names;
  for (model::NodeInventory& node : nodes) {
    names.push_back(node.name);
    ledger.put_node(std::move(node));
  }
  const score::Profile profile = profile_of("best-fit");
  const score::ProfileChoice profiles(profile);
  const model::SharingRules sharing;
  const model::PodRank rank{.uid = "pod"};
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const model::SnapshotPtr snapshot = ledger.snapshot();
  for (auto _ : state) {
    const plan::IncomingPod incoming{.name_space = "default",
                                     .rank = rank,
                                     .request = request,
                                     .profiles = profiles,
                                     .sharing = sharing};
    benchmark::DoNotOptimize(plan::plan({.snapshot = *snapshot, .incoming = incoming}, candidates));
  }
}

/// Plans over `nodes` nodes of `gpus` GPUs. Each GPU has a model of its own, whose name has `bytes`
/// bytes. The pod has eight containers; the globs of their gpu-model are the slowest to compare
/// with these names, and match none of them.
void plan_by_hostile_models(benchmark::State& state) {
  std::vector<model::NodeInventory> nodes;
  for (int n = 0; n < state.range(0); ++n) {
    model::NodeInventory node = node_of(n, static_cast<int>(state.range(1)));
    for (model::GpuInfo& gpu : node.gpus) {
      gpu.model = gpu.uuid;
      gpu.model.insert(0, static_cast<std::size_t>(state.range(2)) - gpu.model.size(), 'a');
    }
    nodes.push_back(std::move(node));
  }
  model::GpuRequest request;
  for (int c = 0; c < 8; ++c) {
    model::ContainerRequest asked = quarter().containers.front();
    asked.container = "c" + std::to_string(c);
    asked.device = model::FractionRequest{100 + c};
    const std::string slow = '*' + std::string(62, 'a') + 'b';
    asked.models.included = {slow, slow, slow, slow.substr(0, 60) + 'c'};
    request.containers.push_back(std::move(asked));
  }
  plan_cold(state, std::move(nodes), request);
}
BENCHMARK(plan_by_hostile_models)
    ->ArgNames({"nodes", "gpus", "bytes"})
    ->Args({1, 64, 128})
    ->Args({100, 8, 128})
    ->Args({5'000, 8, 128})
    ->Args({5'000, 8, 24})
    ->Unit(benchmark::kMillisecond);

/// Plans over `nodes` nodes of eight GPUs that are not in MIG mode, for a pod with a MIG profile.
/// Whether a GPU could have this profile depends on its model, whose name has up to `bytes` bytes.
void plan_by_profile(benchmark::State& state) {
  std::vector<model::NodeInventory> nodes;
  for (int n = 0; n < state.range(0); ++n) {
    model::NodeInventory node = node_of(n, 8);
    for (model::GpuInfo& gpu : node.gpus) {
      gpu.model = "a100";
      while (gpu.model.size() + 5 <= static_cast<std::size_t>(state.range(1))) gpu.model += " a100";
      gpu.memory = {46'068 + gpu.index};
    }
    nodes.push_back(std::move(node));
  }
  model::GpuRequest request = quarter();
  request.containers.front().device = model::SliceRequest{"1g.5gb"};
  plan_cold(state, std::move(nodes), request);
}
BENCHMARK(plan_by_profile)
    ->ArgNames({"nodes", "bytes"})
    ->Args({100, 128})
    ->Args({5'000, 128})
    ->Args({5'000, 16})
    ->Unit(benchmark::kMillisecond);

/// Chooses victims on a node of eight GPUs with `pods` pods of equal size on each, for a pod that
/// requests `wholes` whole GPUs. Most pods are equivalent, so the search takes long.
void choose_victims_on_a_node(benchmark::State& state) {
  std::vector<model::HoldingPtr> holdings;
  for (int i = 0; i < 8 * state.range(0); ++i) {
    auto holding = std::make_shared<model::Holding>();
    holding->uid = "uid-" + std::to_string(i);
    holding->rank.uid = holding->uid;
    const model::ReservedDevice device{.index = i % 8,
                                       .mode = model::GpuMode::kTimeSlicing,
                                       .memory = {40960 / state.range(0)},
                                       .compute = {1000 / state.range(0)}};
    holding->reservation.containers.push_back(
        {.name = "main", .request_text = {}, .assigned = std::vector{device}});
    holdings.push_back(std::move(holding));
  }
  const model::NodeStatePtr node = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(node_of(0, 8)), std::move(holdings));
  model::GpuRequest request = quarter();
  request.containers.front().device = model::WholeGpuRequest{};
  request.containers.front().count = state.range(1);
  const model::PodRank rank{.priority = 1, .created = {}, .uid = "pod"};
  const score::Profile profile = profile_of("best-fit");
  const score::ProfileChoice profiles(profile);
  const model::SharingRules sharing;
  const model::NamespaceUsage held;
  const plan::Preemptor preemptor{.incoming = {.name_space = "default",
                                               .rank = rank,
                                               .request = request,
                                               .host = {},
                                               .profiles = profiles,
                                               .sharing = sharing}};
  for (auto _ : state) {
    fit::FitMemo memo(request);
    benchmark::DoNotOptimize(plan::choose_victims(preemptor,
                                                  {.node = *node,
                                                   .context = {.namespace_usage = held},
                                                   .proposed_victims = {},
                                                   .protected_uids = {}},
                                                  memo));
  }
}
BENCHMARK(choose_victims_on_a_node)
    ->ArgNames({"pods", "wholes"})
    ->Args({1, 1})
    ->Args({1, 8})
    ->Args({2, 1})
    ->Args({2, 4})
    ->Args({6, 1})
    ->Args({6, 4})
    ->Unit(benchmark::kMicrosecond);

/// Chooses a placement for a tenth of a GPU on a node of eight GPUs, a third of each of which is
/// taken, beside `nominated` nominated pods. Each of them has `containers` containers that request
/// `hundredths` hundredths of a GPU.
void choose_beside_nominated(benchmark::State& state) {
  std::vector<model::HoldingPtr> holdings;
  for (int i = 0; i < 24; ++i) {
    auto holding = std::make_shared<model::Holding>();
    holding->uid = "uid-" + std::to_string(i);
    holding->rank.uid = holding->uid;
    const int hundredths = 10 + i % 3;
    const model::ReservedDevice device{.index = i % 8,
                                       .mode = model::GpuMode::kTimeSlicing,
                                       .memory = {40960LL * hundredths / 100},
                                       .compute = {10LL * hundredths}};
    holding->reservation.containers.push_back(
        {.name = "main", .request_text = {}, .assigned = std::vector{device}});
    holdings.push_back(std::move(holding));
  }
  const model::NodeStatePtr node = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(node_of(0, 8)), std::move(holdings));
  model::Nominations nominations;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    auto pod = std::make_shared<model::Nomination>();
    pod->rank = {.priority = 1, .created = {}, .uid = "nominated-" + std::to_string(100 + i)};
    pod->request = quarter();
    pod->request.containers.front().device =
        model::FractionRequest{static_cast<int>(10 * state.range(1))};
    pod->request.containers.resize(static_cast<std::size_t>(state.range(2)),
                                   pod->request.containers.front());
    nominations.push_back(std::move(pod));
  }
  model::GpuRequest request = quarter();
  request.containers.front().device = model::FractionRequest{100};
  const model::PodRank rank{.uid = "pod"};
  const score::Profile profile = profile_of("best-fit");
  const score::ProfileChoice profiles(profile);
  const model::SharingRules sharing;
  const model::NamespaceUsage held;
  const plan::IncomingPod incoming{.name_space = "default",
                                   .rank = rank,
                                   .request = request,
                                   .host = {},
                                   .profiles = profiles,
                                   .sharing = sharing};
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan::choose_placement(
        *node, incoming, {.namespace_usage = held, .nominations = &nominations}));
  }
}
BENCHMARK(choose_beside_nominated)
    ->ArgNames({"nominated", "hundredths", "containers"})
    ->Args({0, 10, 1})
    ->Args({1, 10, 1})
    ->Args({3, 10, 1})
    ->Args({10, 10, 1})
    ->Args({10, 40, 1})
    ->Args({60, 40, 1})
    ->Args({60, 7, 6})
    ->Unit(benchmark::kMicrosecond);

/// Calls fit() for a pod of `containers` containers on a node of 8 GPUs, of which GPU i is taken to
/// 10·i percent. Each container requests 0.35 of a GPU, which fits. If `large`, it requests two
/// thirds of three GPUs, which does not fit for several containers.
void fit_containers(benchmark::State& state) {
  model::GpuRequest request;
  for (int c = 0; c < state.range(0); ++c) {
    request.containers.push_back(
        {.container = "c" + std::to_string(c),
         .device = model::FractionRequest{state.range(1) == 0 ? 350 : 650 + 7 * c},
         .count = state.range(1) == 0 ? 1 : 3});
  }
  std::vector<model::HoldingPtr> holdings;
  for (int i = 1; i < 8; ++i) {
    auto holding = std::make_shared<model::Holding>();
    holding->reservation.containers.push_back(
        {.name = "main",
         .assigned = std::vector<model::ReservedDevice>{{.index = i,
                                                         .mode = model::GpuMode::kTimeSlicing,
                                                         .memory = {4096 * i},
                                                         .compute = {100 * i}}}});
    holdings.push_back(std::move(holding));
  }
  const model::NodeStatePtr node = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(node_of(1, 8)), std::move(holdings));
  fit::FitMemo memo(request);
  model::PlacementList options;
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit::fit(*node, {}, memo, options));
  }
  state.counters["options"] = static_cast<double>(options.size());
}
BENCHMARK(fit_containers)
    ->ArgNames({"containers", "large"})
    ->ArgsProduct({{1, 2, 4, 8}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

/// Makes the holding of a pod with a share of `thousandths` of the GPU at position `gpu`.
model::HoldingPtr share_on(const model::NodeInventory& node, int gpu, int thousandths) {
  static int made = 0;
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = "default";
  holding->uid = "uid-" + std::to_string(made++);
  holding->rank.uid = holding->uid;
  holding->reservation_written = true;
  model::ContainerRequest asked = quarter().containers.front();
  asked.device = model::FractionRequest{thousandths};
  asked.text = "gpu-fraction=0." + std::to_string(1000 + thousandths).substr(1);
  const model::GpuInfo& on = node.gpus[static_cast<std::size_t>(gpu)];
  const model::ReservedDevice device{.index = on.index,
                                     .uuid = on.uuid,
                                     .mode = model::GpuMode::kTimeSlicing,
                                     .memory = {on.memory.value * thousandths / 1000},
                                     .compute = {thousandths}};
  holding->reservation = {.uid = holding->uid, .node = node.name, .containers = {}};
  holding->reservation.containers.push_back(
      {.name = "main", .request_text = asked.text, .assigned = std::vector{device}});
  holding->container_requests.emplace_back(std::move(asked));
  return holding;
}

/// A cluster of nodes with eight GPUs, each filled with shares up to `filled` thousandths, and a
/// pod that requests `asked` whole GPUs, or half a GPU if `asked` is 0. Arguments: nodes, filled,
/// asked.
struct FilledCluster {
  explicit FilledCluster(const benchmark::State& state) {
    std::mt19937_64 random(42);
    std::vector<model::NodeStatePtr> states;
    auto names = std::make_shared<model::NameIndex>();
    for (int n = 0; n < state.range(0); ++n) {
      auto node = std::make_shared<const model::NodeInventory>(node_of(n, 8));
      std::vector<model::HoldingPtr> holdings;
      for (int gpu = 0; gpu < 8; ++gpu) {
        for (int left = static_cast<int>(state.range(1)); left > 0;) {
          const int size = std::min(left, 50 * static_cast<int>(1 + random() % 12));
          holdings.push_back(share_on(*node, gpu, size));
          left -= size;
        }
      }
      names->emplace(node->name, base::NodeIndex{static_cast<std::uint32_t>(n)});
      states.push_back(fit::build_node_state(node, std::move(holdings)));
    }
    snapshot.nodes = model::NodeTable(states);
    snapshot.names = std::move(names);
    model::ContainerRequest& container = request.containers.front();
    if (state.range(2) == 0) {
      container.device = model::FractionRequest{500};
      container.text = "gpu-fraction=0.5";
    } else {
      container.device = model::WholeGpuRequest{};
      container.count = state.range(2);
      container.text = "gpu-fraction=" + std::to_string(state.range(2));
    }
  }
  /// Puts all GPUs into MIG mode. One slice of each is taken, and the pod requests all slices.
  void slice_all() {
    std::vector<model::NodeStatePtr> states;
    for (std::size_t n = 0; n < snapshot.nodes.size(); ++n) {
      auto node = std::make_shared<model::NodeInventory>(*snapshot.nodes[n]->inventory);
      node->dynamic_mig = true;
      std::vector<model::HoldingPtr> holdings;
      for (model::GpuInfo& gpu : node->gpus) {
        gpu.mig_enabled = true;
        gpu.mig_table = mig::find_mig_card(gpu.model, gpu.memory)->table;
        auto pod = std::make_shared<model::Holding>(*share_on(*node, gpu.index, 125));
        model::ReservedDevice device{gpu.index, gpu.uuid, model::GpuMode::kMig, {4864}, {142}, {}};
        device.slice = model::Slice{.profile = "1g.5gb", .start = 0, .size = 1, .uuid = {}};
        pod->reservation.containers.front().assigned = std::vector{device};
        holdings.push_back(std::move(pod));
      }
      states.push_back(fit::build_node_state(std::move(node), std::move(holdings)));
    }
    snapshot.nodes = model::NodeTable(states);
    request.containers.front().device = model::SliceRequest{"7g.40gb"};
    request.containers.front().text = "gpu-mig-profile=7g.40gb";
  }
  [[nodiscard]] plan::IncomingPod incoming() const {
    return {.name_space = "default",
            .rank = rank,
            .request = request,
            .profiles = profiles,
            .sharing = sharing};
  }

  model::Snapshot snapshot;
  model::GpuRequest request = quarter();
  score::Profile profile = profile_of("best-fit");
  score::ProfileChoice profiles{profile};
  model::SharingRules sharing;
  model::PodRank rank{.uid = "pod"};
};

void advise_on_repacking(benchmark::State& state) {
  const FilledCluster cluster(state);
  std::size_t moves = 0;
  for (auto _ : state) {
    const advice::RepackAdvice advice = advice::repack(
        {.snapshot = cluster.snapshot, .incoming = cluster.incoming(), .protected_uids = {}});
    moves = advice.moves.size();
    state.SetLabel(advice.explanation);
  }
  state.counters["moves"] = static_cast<double>(moves);
}
BENCHMARK(advise_on_repacking)
    ->ArgNames({"nodes", "filled", "asked"})
    ->Args({1000, 600, 1})
    ->ArgsProduct({{5000}, {600, 950, 1000}, {1}})
    ->Args({5000, 600, 2})
    ->Args({5000, 600, 8})
    ->Args({5000, 900, 8})
    ->Args({5000, 1000, 8})
    ->Unit(benchmark::kMillisecond);

/// Explains why a pod fits on none of the nodes, with advice.
void explain_pod(benchmark::State& state, const FilledCluster& cluster, bool per_node) {
  std::size_t advice = 0;
  for (auto _ : state) {
    const explain::Explanation explanation = explain::explain({.snapshot = cluster.snapshot,
                                                               .incoming = cluster.incoming(),
                                                               .protected_uids = {},
                                                               .per_node = per_node});
    advice = explanation.advice.size();
    benchmark::DoNotOptimize(explanation.feasible);
  }
  state.counters["advice"] = static_cast<double>(advice);
}

void explain_a_refusal(benchmark::State& state) {
  explain_pod(state, FilledCluster(state), /*per_node=*/false);
}
BENCHMARK(explain_a_refusal)
    ->ArgNames({"nodes", "filled", "asked"})
    ->Args({1000, 600, 0})
    ->Args({5000, 950, 0})
    ->ArgsProduct({{5000}, {600, 1000}, {0, 1, 8}})
    ->Unit(benchmark::kMillisecond);

void explain_each_node(benchmark::State& state) {
  explain_pod(state, FilledCluster(state), /*per_node=*/true);
}
BENCHMARK(explain_each_node)->Args({5000, 600, 0})->Unit(benchmark::kMillisecond);

void explain_a_refused_slice(benchmark::State& state) {
  FilledCluster cluster(state);
  cluster.slice_all();
  explain_pod(state, cluster, /*per_node=*/false);
}
BENCHMARK(explain_a_refused_slice)->Args({5000, 0, 0})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace snug
