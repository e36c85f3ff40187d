#include "adapters/obs/cluster_gauges.hpp"

#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "snug/usage/bounded.hpp"

namespace snug::obs {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

struct GaugeLabel {
  std::string_view name;
  std::string_view value;
};
using GaugeLabels = std::initializer_list<GaugeLabel>;

/// One gauge with all its series.
class GaugeFamily {
 public:
  GaugeFamily(const char* name, const char* help) {
    family_.name = name;
    family_.help = help;
    family_.type = prometheus::MetricType::Gauge;
  }
  GaugeFamily& set(GaugeLabels labels, double value) {
    ClientMetric& series = family_.metric.emplace_back();
    series.label.reserve(labels.size());
    for (const GaugeLabel& label : labels)
      series.label.push_back({std::string(label.name), std::string(label.value)});
    series.gauge.value = value;
    return *this;
  }
  GaugeFamily& set(double value) { return set({}, value); }
  void move_to(std::vector<MetricFamily>& families) { families.push_back(std::move(family_)); }

 private:
  MetricFamily family_;
};

double bytes(base::MebiBytes memory) { return static_cast<double>(memory.value) * 1024 * 1024; }
double in_gpus(base::MilliGpu compute) { return static_cast<double>(compute.value) / 1000; }
double number(std::int64_t count) { return static_cast<double>(count); }

/// Returns a resource version as a number, or nullopt if it is not an integer. Those of the API
/// server are integers, but Kubernetes does not promise that.
std::optional<double> version_as_number(const std::string& version) {
  std::uint64_t version_number = 0;
  const char* const last = version.data() + version.size();
  const auto [end, error] = std::from_chars(version.data(), last, version_number);
  if (error != std::errc{} || end != last) return std::nullopt;
  return static_cast<double>(version_number);
}

template <typename Counts, typename Key>
double count_of(const Counts& counts, Key key) {
  const auto count = counts.find(key);
  return count == counts.end() ? 0 : number(count->second);
}

void add_replica(const ClusterGauges& gauges, const MetricsOptions& options,
                 std::vector<MetricFamily>& families) {
  GaugeFamily("snug_build_info", "1; its label is the version of this Snug")
      .set({{"version", options.version}}, 1)
      .move_to(families);
  GaugeFamily("snug_ready", "1: this Snug answers calls; 0: it is a standby or not ready")
      .set(gauges.ready ? 1 : 0)
      .move_to(families);
  GaugeFamily("snug_leader", "1: this Snug is the leader; 0: it is a standby")
      .set(gauges.leads ? 1 : 0)
      .move_to(families);
  GaugeFamily("snug_lease_conflict",
              "1: a scheduler calls this Snug while another Snug holds the Lease")
      .set({{"holder", gauges.lease_holder}}, gauges.in_conflict ? 1 : 0)
      .move_to(families);
  GaugeFamily ages("snug_watch_age_seconds", "Time since the last bytes of a list or watch");
  GaugeFamily versions("snug_watch_resource_version",
                       "Last resource version that a list or watch has received");
  for (const auto& [resource, stream] : gauges.streams) {
    const std::string_view name = service::kResourceNames[resource];
    ages.set({{"resource", name}}, static_cast<double>(stream.age.count()) / 1e3);
    if (const auto version = version_as_number(stream.version))
      versions.set({{"resource", name}}, *version);
  }
  ages.move_to(families);
  versions.move_to(families);
  GaugeFamily("snug_policy_generation",
              "1 at the start, one more with each policy that was loaded since")
      .set(static_cast<double>(gauges.policy_generation))
      .move_to(families);
}

void add_cluster(const ClusterGauges& gauges, std::vector<MetricFamily>& families) {
  const usage::ClusterUsage& usage = gauges.usage;
  GaugeFamily("snug_nodes", "Nodes in the ledger").set(number(usage.nodes)).move_to(families);
  GaugeFamily("snug_nodes_in_conflict", "Nodes with pods that contradict each other about devices")
      .set(number(usage.nodes_in_conflict))
      .move_to(families);
  GaugeFamily("snug_gpus", "GPUs in the ledger").set(number(usage.gpus)).move_to(families);
  GaugeFamily closed("snug_gpus_closed", "GPUs that accept no new pods, by reason");
  for (const model::GpuClosure closure : model::kGpuClosureNames.values()) {
    if (closure == model::GpuClosure::kOpen) continue;
    closed.set({{"reason", model::kGpuClosureNames[closure]}},
               count_of(usage.closed_gpus, closure));
  }
  closed.move_to(families);
  GaugeFamily holdings("snug_holdings", "Pods that hold GPUs, by state");
  for (const ledger::HoldingState state : ledger::kHoldingStateNames.values()) {
    holdings.set({{"state", ledger::kHoldingStateNames[state]}}, count_of(gauges.holdings, state));
  }
  holdings.move_to(families);
  GaugeFamily("snug_free_gpus",
              "Free parts of open GPUs, of each the smaller of its memory and compute")
      .set(in_gpus(usage.free))
      .move_to(families);
  GaugeFamily("snug_fragmented_gpus", "Free parts of GPUs that typical pods cannot use")
      .set(in_gpus(usage.fragmented))
      .move_to(families);
  const base::MilliGpu largest =
      usage.largest_free_share ? usage.largest_free_share->compute : base::MilliGpu{};
  GaugeFamily("snug_largest_free_share_gpus",
              "Compute of the largest share, whole GPU or slice that a pod could get")
      .set(in_gpus(largest))
      .move_to(families);
  GaugeFamily("snug_pending_pods", "Unbound pods known from the list and watch")
      .set(number(gauges.pending_pods))
      .move_to(families);
  GaugeFamily pending("snug_pending_gpu_pods", "Pending pods that ask for GPUs, by reason");
  for (std::size_t i = 0; i < model::all_reasons().size(); ++i) {
    const auto reason = static_cast<model::ReasonCode>(i);
    const std::string_view code = model::reason_row(reason).code;
    std::int64_t pods = 0;
    for (const usage::PendingTotals& totals : usage.pending) {
      if (totals.reason == reason) pods = totals.pods;
    }
    pending.set({{"reason", code.empty() ? "none" : code}}, number(pods));
  }
  pending.move_to(families);
}

void add_models(const usage::ClusterUsage& usage, std::vector<MetricFamily>& families) {
  GaugeFamily memory("snug_memory_capacity_bytes", "Memory of the GPUs, by model");
  GaugeFamily memory_held("snug_memory_reserved_bytes", "GPU memory that pods hold, by model");
  GaugeFamily compute("snug_compute_capacity_gpus", "GPUs in the ledger, by model");
  GaugeFamily compute_held("snug_compute_reserved_gpus", "GPU compute that pods hold, by model");
  GaugeFamily free("snug_whole_gpus_free",
                   "GPUs that a pod that asks for one whole GPU could take, by model");
  for (const usage::ModelUsage& model : usage::bounded(usage.models, model::kMaxModels)) {
    const GaugeLabels labels{{"model", model.model}};
    memory.set(labels, bytes(model.memory));
    memory_held.set(labels, bytes(model.memory_held));
    compute.set(labels, number(model.gpus));
    compute_held.set(labels, in_gpus(model.compute_held));
    free.set(labels, number(model.free_whole_gpus));
  }
  for (GaugeFamily* family : {&memory, &memory_held, &compute, &compute_held, &free})
    family->move_to(families);
}

void add_namespaces(const usage::ClusterUsage& usage, std::size_t max_namespaces,
                    std::vector<MetricFamily>& families) {
  GaugeFamily pods("snug_namespace_pods", "Pods that hold GPUs, by namespace");
  GaugeFamily memory("snug_namespace_memory_reserved_bytes",
                     "GPU memory that pods hold, by namespace");
  GaugeFamily compute("snug_namespace_compute_reserved_gpus",
                      "GPU compute that pods hold, by namespace");
  GaugeFamily cap("snug_namespace_compute_cap_gpus",
                  "Cap of the policy on the GPU compute of a namespace");
  for (const usage::NamespaceTotals& totals : usage::bounded(usage.namespaces, max_namespaces)) {
    const GaugeLabels labels{{"namespace", totals.name_space}};
    pods.set(labels, number(totals.pods));
    memory.set(labels, bytes(totals.memory));
    compute.set(labels, in_gpus(totals.compute));
    if (totals.cap) cap.set(labels, in_gpus(*totals.cap));
  }
  for (GaugeFamily* family : {&pods, &memory, &compute, &cap}) family->move_to(families);
}

}  // namespace

std::vector<MetricFamily> cluster_families(const ClusterGauges& gauges,
                                           const MetricsOptions& options,
                                           std::int64_t gpus_with_series) {
  std::vector<MetricFamily> families;
  add_replica(gauges, options, families);
  add_cluster(gauges, families);
  add_models(gauges.usage, families);
  add_namespaces(gauges.usage, options.max_namespaces, families);
  GaugeFamily(
      "snug_gpus_without_series",
      "GPUs that have no series of their own: gpuMetrics is off, there are too many, or they "
      "have vanished")
      .set(number(gauges.usage.gpus - gpus_with_series))
      .move_to(families);
  return families;
}

}  // namespace snug::obs
