// Measures how long a list of all pods, or of all nodes, blocks the ledger, and what a change of
// one pod costs on a node with very many pods, and how long a scrape of the metrics blocks the
// ledger. Exit code 1 if the cost of a change grows as if each change summed up all holdings of the
// node, or if the ledger is blocked for the whole list or scrape. Run: build/dev/bench/ledger_bench
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "snug/fit/node_usage.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/score/policy.hpp"
#include "snug/usage/cluster_usage.hpp"
#include "snug/usage/gpu_usage.hpp"

namespace snug {
namespace {

using Clock = std::chrono::steady_clock;
using Pods = std::vector<model::HoldingPtr>;

constexpr int kNodes = 1'200;
constexpr int kSharesPerNode = 16;
constexpr int kPodsPerNode = 80;
constexpr int kManyNodes = 20'000;
constexpr int kRounds = 5;
constexpr int kFew = 1'250;
constexpr int kMany = 16 * kFew;
constexpr int kEnds = 400;

double micros_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Returns the processor time of this thread. Unlike real time, it excludes other load of the
/// machine.
double busy_micros() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

std::string node_name(int node) { return "gpu-node-" + std::to_string(10'000 + node) + ".local"; }

model::NodeInventory node_of(const std::string& name, int gpus) {
  model::NodeInventory node;
  node.name = name;
  for (int i = 0; i < gpus; ++i) {
    node.gpus.push_back({.index = i,
                         .uuid = "GPU-" + name + "-" + std::to_string(i),
                         .model = "NVIDIA-A100-SXM4-40GB",
                         .memory = {40'960},
                         .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}});
  }
  return node;
}

std::shared_ptr<model::Holding> pod_of(const std::string& uid, const std::string& node) {
  auto pod = std::make_shared<model::Holding>();
  pod->name_space = "team-" + std::to_string(uid.size() % 7);
  pod->pod = "pod-" + uid;
  pod->uid = "0b5c2c1e-7d7e-4f0e-9d3b-" + uid;
  pod->host = {.cpu_milli = 100, .memory_bytes = 1 << 27};
  pod->reservation.uid = pod->uid;
  pod->reservation.node = node;
  pod->rank.uid = pod->uid;
  return pod;
}

model::HoldingPtr share_of(const std::string& uid, const std::string& node, int gpu) {
  auto pod = pod_of(uid, node);
  pod->reservation_written = true;
  pod->request_text = "gpu-fraction=0.25";
  pod->container_requests = {model::ContainerRequest{
      .container = "main", .device = model::FractionRequest{250}, .text = pod->request_text}};
  pod->reservation.containers.push_back({.name = "main",
                                         .request_text = pod->request_text,
                                         .assigned = std::vector{model::ReservedDevice{
                                             .index = gpu,
                                             .uuid = "GPU-" + node + "-" + std::to_string(gpu),
                                             .mode = model::GpuMode::kTimeSlicing,
                                             .memory = {10'240},
                                             .compute = {250}}}});
  return pod;
}

/// Returns all pods of the cluster. Between two generations, a tenth of the pods differ.
Pods cluster_pods(int generation) {
  Pods pods;
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = node_name(node);
    for (int i = 0; i < kPodsPerNode; ++i) {
      const int change = i % 10 == 0 ? generation : 0;
      const std::string uid = std::to_string(1'000'000 * change + kPodsPerNode * node + i);
      pods.push_back(i < kSharesPerNode ? share_of(uid, name, i % 8) : pod_of(uid, name));
    }
  }
  return pods;
}

Pods pods_on(const std::string& node, int count) {
  Pods pods;
  for (int i = 0; i < count; ++i) pods.push_back(pod_of(std::to_string(i), node));
  return pods;
}

ledger::ListedPods listed(const Pods& pods) {
  ledger::ListedPods all;
  all.bound = pods;
  for (const model::HoldingPtr& pod : pods) all.living.insert(pod->uid);
  return all;
}

struct Took {
  double wall = 0;  // microseconds
  double busy = 0;
};

Took take_list(ledger::Ledger& ledger, const Pods& pods) {
  const ledger::ListMark mark = ledger.begin_list();
  const ledger::ListedPods all = listed(pods);
  const auto start = Clock::now();
  const double busy = busy_micros();
  (void)ledger.replace_holdings(mark, all);
  return {micros_since(start), busy_micros() - busy};
}

/// Reserves and releases a GPU of its own node in a loop, and records the longest wait.
class Binder {
 public:
  explicit Binder(ledger::Ledger& ledger) : ledger_(ledger), thread_([this] { run(); }) {}
  ~Binder() {
    stop_ = true;
    thread_.join();
  }
  /// Returns the longest wait since the last call of longest().
  double longest() { return longest_.exchange(0); }

 private:
  void run() {
    model::GpuRequest request;
    request.main_container = "main";
    request.containers.push_back(
        {.container = "main", .device = model::FractionRequest{250}, .text = "gpu-fraction=0.25"});
    const score::Profile profile{"best-fit", {{score::find_term("best-fit"), 1}}};
    const score::ProfileChoice profiles{profile};
    const model::SharingRules sharing;
    const model::PodRank rank{.uid = "binder"};
    while (!stop_) {
      const auto start = Clock::now();
      (void)ledger_.reserve({.incoming = {.name_space = "default",
                                          .rank = rank,
                                          .request = request,
                                          .profiles = profiles,
                                          .sharing = sharing},
                             .pod = "binder",
                             .node = "spare"});
      ledger_.release("binder");
      const double took = micros_since(start);
      if (took > longest_) longest_ = took;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  ledger::Ledger& ledger_;
  std::atomic<bool> stop_ = false;
  std::atomic<double> longest_ = 0;
  std::thread thread_;
};

bool verdict(bool good, const char* sentence) {
  std::printf("%s: %s\n", good ? "good" : "BAD", sentence);
  return good;
}

bool measure_lists() {
  base::SteadyClock clock;
  const base::Limits limits;
  ledger::Ledger ledger(clock, limits);
  for (int node = 0; node < kNodes; ++node) ledger.put_node(node_of(node_name(node), 8));
  ledger.put_node(node_of("spare", 8));
  const Took first = take_list(ledger, cluster_pods(0));
  std::vector<double> lists;
  std::vector<double> busy;
  std::vector<double> waits;
  {
    Binder binder(ledger);
    for (int round = 1; round <= kRounds; ++round) {
      const Pods pods = cluster_pods(round);
      (void)binder.longest();
      const Took took = take_list(ledger, pods);
      lists.push_back(took.wall);
      busy.push_back(took.busy);
      waits.push_back(binder.longest());
    }
  }
  const double list = median(lists);
  const double wait = median(waits);
  std::printf("%d pods on %d nodes, a tenth of them replaced in each list\n", kNodes * kPodsPerNode,
              kNodes);
  std::printf(
      "  the first list %.0f ms of processor time, a later one %.0f ms, %.0f ms by the clock\n",
      first.busy / 1000, median(busy) / 1000, list / 1000);
  std::printf("  the longest reserve and release meanwhile %.2f ms (median of %d)\n", wait / 1000,
              kRounds);
  return verdict(wait < list / 20, "a reserve waits for less than a twentieth of a list");
}

/// What GET /metrics asks of the ledger, for 9,600 GPUs: how long it may block others, and how long
/// the sums take, which are computed without the ledger's mutex.
bool measure_scrapes() {
  base::SteadyClock clock;
  const base::Limits limits;
  ledger::Ledger ledger(clock, limits);
  for (int node = 0; node < kNodes; ++node) ledger.put_node(node_of(node_name(node), 8));
  (void)take_list(ledger, cluster_pods(0));
  std::vector<double> blocked;
  std::vector<double> sums;
  for (int round = 0; round < 21; ++round) {
    ledger.put_node(node_of("spare", round % 2 + 1));  // so that the snapshot is a new one
    double before = busy_micros();
    const model::SnapshotPtr snapshot = ledger.snapshot();
    const ledger::HoldingCounts counts = ledger.gpu_holding_counts();
    blocked.push_back(busy_micros() - before);
    before = busy_micros();
    const usage::ClusterUsage usage =
        usage::cluster_usage({.snapshot = *snapshot, .sharing = {}, .pending = {}});
    const auto gpus = usage::gpu_usage(*snapshot, static_cast<std::size_t>(limits.max_gpu_series));
    sums.push_back(busy_micros() - before);
    if (std::ssize(gpus) != usage.gpus || counts.empty()) return false;
  }
  std::printf("a scrape of %d GPUs with %d pods\n", kNodes * 8, kNodes * kSharesPerNode);
  std::printf("  %.0f us in which the ledger may be blocked, %.1f ms for the sums\n",
              median(blocked), median(sums) / 1000);
  return verdict(median(blocked) < median(sums) / 20,
                 "a scrape blocks the ledger for less than a twentieth of its sums");
}

/// Returns all nodes of the cluster. In each generation, another tenth of them has an unhealthy
/// GPU.
std::vector<model::NodeInventory> cluster_nodes(int generation) {
  std::vector<model::NodeInventory> nodes;
  for (int i = 0; i < kManyNodes; ++i) {
    nodes.push_back(node_of(node_name(i), 8));
    if (i % 10 == generation % 10) nodes.back().gpus.front().healthy = false;
  }
  nodes.push_back(node_of("spare", 8));
  return nodes;
}

bool measure_node_lists() {
  base::SteadyClock clock;
  const base::Limits limits;
  ledger::Ledger ledger(clock, limits);
  ledger.replace_nodes(cluster_nodes(0));
  std::vector<double> lists;
  std::vector<double> waits;
  {
    Binder binder(ledger);
    for (int round = 1; round <= kRounds; ++round) {
      std::vector<model::NodeInventory> nodes = cluster_nodes(round);
      (void)binder.longest();
      const auto start = Clock::now();
      ledger.replace_nodes(std::move(nodes));
      lists.push_back(micros_since(start));
      waits.push_back(binder.longest());
    }
  }
  const double list = median(lists);
  const double wait = median(waits);
  std::printf("%d nodes of 8 GPUs, a tenth of them changed in each list\n", kManyNodes);
  std::printf("  a list %.1f ms by the clock; the longest reserve and release meanwhile %.2f ms\n",
              list / 1000, wait / 1000);
  return verdict(wait < list / 4, "a reserve waits for less than a quarter of a list of nodes");
}

struct OneNode {
  double rebuild = 0;  // microseconds
  double end = 0;      // microseconds to end one pod
  double naive = 0;    // microseconds to sum up all holdings of the node
};

OneNode measure_node(int count, int gpus) {
  base::SteadyClock clock;
  const base::Limits limits;
  ledger::Ledger ledger(clock, limits);
  ledger.put_node(node_of("virtual", gpus));
  const Pods pods = pods_on("virtual", count);
  OneNode node;
  node.rebuild = take_list(ledger, pods).busy;
  const double before = busy_micros();
  for (int i = 0; i < kEnds; ++i) ledger.end_pod(pods[static_cast<std::size_t>(i)]->uid);
  node.end = (busy_micros() - before) / kEnds;
  const auto inventory = std::make_shared<const model::NodeInventory>(node_of("virtual", gpus));
  std::vector<double> naive;
  for (int i = 0; i < 21; ++i) {
    const double began = busy_micros();
    const model::NodeStatePtr state = fit::build_node_state(inventory, pods);
    naive.push_back(busy_micros() - began);
  }
  node.naive = median(naive);
  return node;
}

bool measure_nodes() {
  bool good = true;
  for (const int gpus : {0, 8}) {
    const OneNode few = measure_node(kFew, gpus);
    const OneNode many = measure_node(kMany, gpus);
    std::printf("one node of %d GPUs with %d and with %d CPU-only pods\n", gpus, kFew, kMany);
    std::printf("  rebuilt by a list   %8.1f ms %8.1f ms  x%.0f\n", few.rebuild / 1000,
                many.rebuild / 1000, many.rebuild / few.rebuild);
    std::printf("  the end of one pod  %8.1f us %8.1f us  x%.1f\n", few.end, many.end,
                many.end / few.end);
    std::printf("  the sum of all once %8.1f us %8.1f us  x%.1f\n", few.naive, many.naive,
                many.naive / few.naive);
    good = verdict(many.rebuild < 48 * few.rebuild, "16 times the pods: below 48 times the list") &&
           good;
    good = verdict(many.end < many.naive / 10,
                   "the end of a pod costs less than a tenth of summing all") &&
           good;
  }
  return good;
}

}  // namespace
}  // namespace snug

int main() {
  const bool lists = snug::measure_lists();
  const bool node_lists = snug::measure_node_lists();
  const bool nodes = snug::measure_nodes();
  const bool scrapes = snug::measure_scrapes();
  return lists && node_lists && nodes && scrapes ? 0 : 1;
}
