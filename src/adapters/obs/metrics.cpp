#include "snug/adapters/obs/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <charconv>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace snug {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

constexpr std::array<const char*, 8> kClosures{"open",    "unhealthy",      "vanished",
                                               "changed", "over_committed", "mode_conflict",
                                               "suspect", "no_mig_table"};
constexpr std::array<const char*, 3> kHoldingStates{"reserved", "unsettled", "bound"};
// What the adapters and the service count today; any other word starts its series when it comes.
constexpr std::array<const char*, 13> kApiCalls{
    "bind",        "get_pod",      "touch_room", "get_lease",     "write_lease",
    "list_leases", "watch_leases", "event",      "list_one_node", "list_nodes",
    "list_pods",   "watch_nodes",  "watch_pods"};

const char* result_word(bool ok) { return ok ? "ok" : "error"; }

const Histogram::BucketBoundaries& latency_buckets() {
  static const Histogram::BucketBoundaries seconds{
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5};
  return seconds;
}

/// Resource versions are opaque; the API server's own are numbers. Nothing: this is none.
std::optional<double> number_of(const std::string& version) {
  std::uint64_t number = 0;
  const char* const last = version.data() + version.size();
  const auto [end, error] = std::from_chars(version.data(), last, number);
  if (error != std::errc{} || end != last) return std::nullopt;
  return static_cast<double>(number);
}

template <typename Enum>
double value_of(const std::map<Enum, std::int64_t>& counts, std::size_t key) {
  const auto found = counts.find(static_cast<Enum>(key));
  return found == counts.end() ? 0 : static_cast<double>(found->second);
}

}  // namespace

struct PrometheusMetrics::Series {
  prometheus::Registry registry;

  Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }

  Family<Histogram>& verb_durations = prometheus::BuildHistogram()
                                          .Name("snug_verb_duration_seconds")
                                          .Help("Time from a call's body to its reply")
                                          .Register(registry);
  Family<Counter>& verbs = counter("snug_verb_total", "Calls of kube-scheduler");
  Family<Counter>& binds = counter("snug_bind_total", "Binds, by how they ended");
  Family<Counter>& api = counter("snug_api_requests_total", "Requests to the API server");
  Family<Counter>& watches = counter("snug_watch_restarts_total", "Watches that ended");
  Family<Counter>& touches =
      counter("snug_room_touches_total", "Wake-ups of waiting pods after room appeared");
  Family<Counter>& dropped =
      counter("snug_events_dropped_total", "Kubernetes events that found their queue full");
  Family<Counter>& problems =
      counter("snug_reservation_problems_total", "Reservations that are not as they should be");
  Family<Counter>& reloads =
      counter("snug_policy_reloads_total", "Changed policy files that were read");
  Family<Gauge>& up_to_date =
      gauge("snug_policy_up_to_date", "0: the policy file was refused, an older one is in force");
  Family<Gauge>& ready = gauge("snug_ready", "1: this Snug decides, on a view that is fresh");
  Family<Gauge>& leader =
      gauge("snug_leader", "1: this Snug holds the Lease and lists or decides; 0: it is a standby");
  Family<Gauge>& lease_conflict = gauge(
      "snug_lease_conflict", "1: a scheduler calls this Snug while another one holds the Lease");
  Family<Gauge>& stream_age =
      gauge("snug_watch_age_seconds", "Time since a list or watch last showed anything");
  Family<Gauge>& stream_version =
      gauge("snug_watch_resource_version", "The last resource version that a watch has shown");
  Family<Gauge>& nodes = gauge("snug_nodes", "Nodes in the ledger");
  Family<Gauge>& conflicts =
      gauge("snug_nodes_in_conflict", "Nodes whose pods cannot all be right");
  Family<Gauge>& gpus = gauge("snug_gpus", "GPUs in the ledger");
  Family<Gauge>& closed = gauge("snug_gpus_closed", "GPUs that take nothing new");
  Family<Gauge>& holdings = gauge("snug_holdings", "Pods that hold GPUs");
  Family<Gauge>& memory = gauge("snug_gpu_memory_mebibytes", "GPU memory, all and taken");
  Family<Gauge>& pending = gauge("snug_pending_pods", "Unbound pods that the watch has shown");

  std::array<std::array<Counter*, 2>, kVerbNames.size()> verb_counters{};
  std::array<Histogram*, kVerbNames.size()> verb_histograms{};
  std::array<Counter*, kBindEndNames.size()> bind_counters{};
  Counter& touch_counter = touches.Add({});
  Counter& dropped_counter = dropped.Add({});
  Counter& loaded_counter = reloads.Add({{"result", "loaded"}});
  Counter& refused_counter = reloads.Add({{"result", "refused"}});
  Gauge& up_to_date_gauge = up_to_date.Add({});
  std::mutex lease_conflict_mutex;
  Gauge* lease_conflict_gauge = nullptr;  // guarded by lease_conflict_mutex; never null

  Series() {
    for (std::size_t i = 0; i < kVerbNames.size(); ++i) {
      for (const bool ok : {false, true}) {
        verb_counters[i][ok ? 1 : 0] =
            &verbs.Add({{"verb", std::string(kVerbNames.names()[i])}, {"result", result_word(ok)}});
      }
      verb_histograms[i] =
          &verb_durations.Add({{"verb", std::string(kVerbNames.names()[i])}}, latency_buckets());
    }
    for (std::size_t i = 0; i < kBindEndNames.size(); ++i) {
      bind_counters[i] = &binds.Add({{"end", std::string(kBindEndNames.names()[i])}});
    }
    for (const char* what : kApiCalls) {
      for (const bool ok : {false, true}) api.Add({{"what", what}, {"result", result_word(ok)}});
    }
    for (const char* resource : {"nodes", "pods", "leases"}) {
      for (const std::string_view why : kWatchEndNames.names()) {
        watches.Add({{"resource", resource}, {"why", std::string(why)}});
      }
    }
    lease_conflict_gauge = &lease_conflict.Add({{"holder", ""}});
    up_to_date_gauge.Set(1);  // without a good policy the program does not start
    for (const std::string_view kind : kReservationProblemNames.names()) {
      problems.Add({{"kind", std::string(kind)}});
    }
  }

  /// One series at a time, however many Snugs come and go.
  void set_lease_conflict(bool in_conflict, const std::string& holder) {
    const std::lock_guard lock(lease_conflict_mutex);
    lease_conflict.Remove(lease_conflict_gauge);
    lease_conflict_gauge = &lease_conflict.Add({{"holder", in_conflict ? holder : ""}});
    lease_conflict_gauge->Set(in_conflict ? 1 : 0);
  }
};

ClusterGauges read_gauges(Ledger& ledger) {
  ClusterGauges gauges;
  const SnapshotPtr snapshot = ledger.snapshot();
  for (std::size_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const NodeStatePtr& node = snapshot->nodes[slot];
    if (node == nullptr) continue;
    ++gauges.nodes;
    if (node->conflict != NodeConflict::kNone) ++gauges.nodes_in_conflict;
    for (const GpuState& gpu : node->gpus) {
      ++gauges.gpus;
      gauges.memory_capacity += gpu.memory;
      gauges.memory_used += gpu.used_memory;
      if (gpu.closure != GpuClosure::kOpen) ++gauges.gpus_closed[gpu.closure];
    }
  }
  for (const LedgerEntry& entry : ledger.entries()) ++gauges.holdings[entry.state];
  return gauges;
}

PrometheusMetrics::PrometheusMetrics() : series_(std::make_unique<Series>()) {
  set_gauges(ClusterGauges{});
}

PrometheusMetrics::~PrometheusMetrics() = default;

void PrometheusMetrics::verb_done(Verb verb, bool ok, std::int64_t microseconds) {
  const auto position = static_cast<std::size_t>(verb);
  series_->verb_counters.at(position)[ok ? 1 : 0]->Increment();
  series_->verb_histograms.at(position)->Observe(static_cast<double>(microseconds) / 1e6);
}

void PrometheusMetrics::bind_ended(BindEnd end) {
  series_->bind_counters.at(static_cast<std::size_t>(end))->Increment();
}

void PrometheusMetrics::api_request(std::string_view what, bool ok) {
  series_->api.Add({{"what", std::string(what)}, {"result", result_word(ok)}}).Increment();
}

void PrometheusMetrics::watch_restarted(std::string_view resource, WatchEnd why) {
  series_->watches
      .Add({{"resource", std::string(resource)}, {"why", std::string(kWatchEndNames[why])}})
      .Increment();
}

void PrometheusMetrics::room_touched() { series_->touch_counter.Increment(); }

void PrometheusMetrics::event_dropped() { series_->dropped_counter.Increment(); }

void PrometheusMetrics::reservation_problem(ReservationProblem kind) {
  series_->problems.Add({{"kind", std::string(kReservationProblemNames[kind])}}).Increment();
}

void PrometheusMetrics::policy_reloaded(bool ok) {
  (ok ? series_->loaded_counter : series_->refused_counter).Increment();
  series_->up_to_date_gauge.Set(ok ? 1 : 0);
}

void PrometheusMetrics::set_gauges(const ClusterGauges& gauges) {
  Series& series = *series_;
  const auto set = [](Family<Gauge>& family, const Labels& labels, auto value) {
    family.Add(labels).Set(static_cast<double>(value));
  };
  set(series.ready, {}, gauges.ready ? 1 : 0);
  set(series.leader, {}, gauges.leads ? 1 : 0);
  series.set_lease_conflict(gauges.in_conflict, gauges.lease_holder);
  for (const auto& [resource, stream] : gauges.streams) {
    const Labels labels{{"resource", resource}};
    set(series.stream_age, labels, static_cast<double>(stream.age.count()) / 1e3);
    if (const auto version = number_of(stream.version)) {
      set(series.stream_version, labels, *version);
    }
  }
  set(series.nodes, {}, gauges.nodes);
  set(series.conflicts, {}, gauges.nodes_in_conflict);
  set(series.gpus, {}, gauges.gpus);
  for (std::size_t i = 1; i < kClosures.size(); ++i) {
    set(series.closed, {{"reason", kClosures[i]}}, value_of(gauges.gpus_closed, i));
  }
  for (std::size_t i = 0; i < kHoldingStates.size(); ++i) {
    set(series.holdings, {{"state", kHoldingStates[i]}}, value_of(gauges.holdings, i));
  }
  set(series.memory, {{"state", "capacity"}}, gauges.memory_capacity.value);
  set(series.memory, {{"state", "used"}}, gauges.memory_used.value);
  set(series.pending, {}, gauges.pending_pods);
}

std::string PrometheusMetrics::exposition() const {
  const prometheus::Serializer& serializer = prometheus::TextSerializer{};
  return serializer.Serialize(series_->registry.Collect());
}

}  // namespace snug
