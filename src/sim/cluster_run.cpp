#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/decision_times.hpp"
#include "sim/gpu_counts.hpp"
#include "snug/base/check.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/units.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/ledger/demand_tracker.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/plan.hpp"
#include "snug/plan/verdict_cache.hpp"
#include "snug/sim/cluster.hpp"

namespace snug::sim {
namespace {

constexpr std::size_t kCurvePoints = 200;

/// Reasons that kube-scheduler, not Snug, would give.
constexpr std::string_view kNoNodeSelected = "NodeSelection";
constexpr std::string_view kNoNodeSelectedSentence =
    "the pod's node selector, node affinity and tolerations leave no node";
constexpr std::string_view kNoHostResources = "NodeResources";
constexpr std::string_view kNoHostResourcesSentence =
    "no node that the pod may use has enough CPU, memory and pod slots left";

base::Limits limits_for(const Cluster& cluster) {
  base::Limits limits;
  limits.max_nodes = std::max(limits.max_nodes, static_cast<std::int64_t>(cluster.nodes.size()));
  return limits;
}

void put_nodes(const Cluster& cluster, ledger::Ledger& ledger) {
  for (const ClusterNode& node : cluster.nodes) ledger.put_node(node.inventory);
}

/// What pods use of a node besides GPUs.
struct HostUse {
  model::HostResources requested;
  std::int64_t pods = 0;

  void add(const model::HostResources& more) {
    requested += more;
    ++pods;
  }
};

class ClusterRun {
 public:
  explicit ClusterRun(const ClusterInput& input)
      : input_(input),
        cluster_(input.cluster),
        ledger_(input.clock, limits_for(cluster_)),
        demand_tracker_(ledger_),
        host_use_(cluster_.nodes.size()) {
    put_nodes(cluster_, ledger_);
    const model::SnapshotPtr snapshot = ledger_.snapshot();
    for (const model::HoldingPtr& holding : cluster_.staying) {
      ledger_.hold(holding);
      const auto slot = snapshot->names->find(holding->reservation.node);
      if (slot) host_use_[slot->value].add(holding->host);
    }
    report_.axes = CurveAxes::kFreeByPods;
  }

  SimulationReport run() {
    const base::TimePoint start = input_.clock.now();
    const std::size_t step = std::max<std::size_t>(1, cluster_.pods.size() / kCurvePoints);
    cluster_result_.now = count_gpus_now(cluster_, input_.clock);
    add_curve_point(0);
    for (std::size_t i = 0; i < cluster_.pods.size(); ++i) {
      arrive(cluster_.pods[i]);
      if ((i + 1) % step == 0 || i + 1 == cluster_.pods.size()) add_curve_point(i + 1);
      if (input_.on_pod) input_.on_pod();
    }
    report_.wall_s = std::chrono::duration<double>(input_.clock.now() - start).count();
    finish();
    return std::move(report_);
  }

 private:
  void add_curve_point(std::size_t pods) {
    cluster_result_.simulated = count_gpus(*ledger_.snapshot());
    report_.curve.push_back(
        {static_cast<double>(pods), static_cast<double>(cluster_result_.simulated.free)});
  }

  void finish() {
    report_.nodes = static_cast<std::int64_t>(cluster_.nodes.size());
    report_.gpus = cluster_result_.now.gpus;
    report_.arrivals = static_cast<std::int64_t>(cluster_.pods.size());
    const auto free_now = static_cast<double>(cluster_result_.now.free);
    report_.reference = {{0, free_now}, {static_cast<double>(cluster_.pods.size()), free_now}};
    std::tie(report_.decision_us_p50, report_.decision_us_p99) = times_.quantiles();
    report_.cluster = std::move(cluster_result_);
  }

  void arrive(const ClusterPod& pod) {
    const service::PodInfo& info = *pod.info;
    PodOutcome& outcome = cluster_result_.pods.emplace_back();
    outcome.name_space = info.facts.name_space;
    outcome.pod = info.facts.name;
    outcome.node_now = pod.holding == nullptr ? "" : pod.holding->reservation.node;
    if (!info.request) {
      refuse(outcome, info.request.error());
      return;
    }
    outcome.request = model::to_text(*info.request);
    if (info.shape) demand_tracker_.observe_pod({.uid = info.facts.uid, .shape = *info.shape});
    const auto claim = service::PodClaim::make(pod.info, {input_.policy, 1});
    const bool placed = claim ? decide(pod, *claim, outcome) : refuse(outcome, claim.error());
    if (placed) {
      ++report_.accepted;
    } else {
      demand_tracker_.pod_left(info.facts.uid);
      count_rejected(*info.request);
    }
  }

  /// Places the pod and returns true, or says in the outcome why it is refused.
  bool decide(const ClusterPod& pod, const service::PodClaim& claim, PodOutcome& outcome) {
    const std::vector<bool>& selected = selected_nodes(pod.selection);
    if (std::ranges::find(selected, true) == selected.end()) {
      return refuse(outcome, kNoNodeSelected, kNoNodeSelectedSentence);
    }
    const std::vector<base::NodeIndex> candidates = candidates_among(selected, pod.info->host);
    if (candidates.empty()) return refuse(outcome, kNoHostResources, kNoHostResourcesSentence);
    const base::TimePoint start = input_.clock.now();
    const plan::Plan best = plan_for(claim, candidates);
    times_.add(input_.clock.now() - start);
    if (!best.winner) return refuse(outcome, plan::main_reason(best.verdicts));
    place(claim, candidates[*best.winner], outcome);
    return true;
  }

  plan::Plan plan_for(const service::PodClaim& claim,
                      const std::vector<base::NodeIndex>& candidates) {
    const model::SnapshotPtr snapshot = ledger_.snapshot();
    std::string key = claim.key();
    auto cache = key.empty() ? nullptr : verdict_caches_.take(key);
    plan::Plan best = plan::plan(
        {.snapshot = *snapshot, .incoming = claim.view(), .cache = cache.get()}, candidates);
    if (cache != nullptr) verdict_caches_.put_back(std::move(key), std::move(cache));
    return best;
  }

  void place(const service::PodClaim& claim, base::NodeIndex node, PodOutcome& outcome) {
    const service::PodInfo& info = claim.pod();
    outcome.node = cluster_.nodes[node.value].inventory.name;
    const auto holding = ledger_.reserve({.incoming = claim.view(),
                                          .pod = info.facts.name,
                                          .node = outcome.node,
                                          .has_other_constraints = false});
    SNUG_CHECK(holding.has_value());  // the ledger has not changed since plan()
    ledger_.mark_bound(info.facts.uid);
    demand_tracker_.pod_placed(info.facts.uid);
    host_use_[node.value].add(info.host);
    for (const model::ReservedContainer& container : (*holding)->reservation.containers) {
      for (const model::ReservedDevice& device : container.devices())
        outcome.gpus.push_back(device.index);
    }
    std::ranges::sort(outcome.gpus);
    const auto repeated = std::ranges::unique(outcome.gpus);
    outcome.gpus.erase(repeated.begin(), repeated.end());
  }

  /// Which nodes kube-scheduler would leave for a pod with this selection, by position.
  const std::vector<bool>& selected_nodes(const NodeSelection& selection) {
    const auto [row, is_new] = nodes_of_selection_.try_emplace(selection);
    if (is_new) {
      for (const ClusterNode& node : cluster_.nodes)
        row->second.push_back(may_run_on(selection, node.traits, node.inventory.name));
    }
    return row->second;
  }

  [[nodiscard]] std::vector<base::NodeIndex> candidates_among(
      const std::vector<bool>& selected, const model::HostResources& requested) const {
    std::vector<base::NodeIndex> candidates;
    for (std::uint32_t slot = 0; slot < selected.size(); ++slot) {
      const HostUse& use = host_use_[slot];
      if (selected[slot] && plan::node_resources_fit(cluster_.nodes[slot].inventory.host,
                                                     use.requested, use.pods, requested)) {
        candidates.push_back(base::NodeIndex{slot});
      }
    }
    return candidates;
  }

  static bool refuse(PodOutcome& outcome, std::string_view code, std::string_view sentence) {
    outcome.refusal_code = code;
    outcome.refusal = sentence;
    return false;
  }
  static bool refuse(PodOutcome& outcome, model::ReasonCode reason) {
    const model::ReasonRow& row = model::reason_row(reason);
    return refuse(outcome, row.code, row.sentence);
  }
  static bool refuse(PodOutcome& outcome, const model::Refusal& refusal) {
    const model::ReasonRow& row = model::reason_row(refusal.code);
    return refuse(outcome, row.code, refusal.sentence.empty() ? row.sentence : refusal.sentence);
  }

  void count_rejected(const model::GpuRequest& request) {
    const demand::PodShape shape = demand::shape_of(request, {});
    RejectedPods& rejected = report_.rejected;
    const bool whole = shape.gpu_milli == base::kWholeGpu.value;
    ++(shape.gpus > 1 ? rejected.multi : shape.gpus == 1 && whole ? rejected.one : rejected.share);
  }

  const ClusterInput& input_;
  const Cluster& cluster_;
  ledger::Ledger ledger_;
  ledger::DemandTracker demand_tracker_;
  std::vector<HostUse> host_use_;  // by slot, which is the position in Cluster::nodes
  std::map<NodeSelection, std::vector<bool>> nodes_of_selection_;
  plan::VerdictCaches verdict_caches_;
  DecisionTimes times_;
  SimulationReport report_;
  ClusterResult cluster_result_;
};

}  // namespace

GpuCounts count_gpus_now(const Cluster& cluster, const base::Clock& clock) {
  ledger::Ledger ledger(clock, limits_for(cluster));
  put_nodes(cluster, ledger);
  for (const model::HoldingPtr& holding : cluster.staying) ledger.hold(holding);
  for (const model::HoldingPtr& holding : cluster.leaving) ledger.hold(holding);
  for (const ClusterPod& pod : cluster.pods) {
    if (pod.holding != nullptr) ledger.hold(pod.holding);
  }
  return count_gpus(*ledger.snapshot());
}

SimulationReport simulate_cluster(const ClusterInput& input) { return ClusterRun(input).run(); }

}  // namespace snug::sim
