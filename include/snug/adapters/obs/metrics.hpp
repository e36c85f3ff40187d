// Metrics in Prometheus' text format. Every counter series whose labels are known in advance exists
// from the start with the value 0, so that an alert on its rate sees the first increment.
//
// Thread-safe. Counters and histograms change with each event. Gauges of the cluster have no memory
// of their own: exposition() makes them from the state that it is given, so that a series ends with
// what it is about, and a scrape needs no lock while it is written.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "snug/base/limits.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/service/ports.hpp"
#include "snug/usage/cluster_usage.hpp"

namespace snug::obs {

/// State of the list and watch of one resource.
struct StreamGauges {
  /// Time since the list or watch last received data or, if it never has, since it first failed. 0
  /// if neither has happened.
  std::chrono::milliseconds age{0};
  std::string version;  // the last resource version; empty if there is none yet
};

/// State of the cluster and of this replica of Snug at one moment.
struct ClusterGauges {
  bool ready = false;
  bool leads = false;
  bool in_conflict = false;
  std::string lease_holder;  // identity of the other Snug; empty unless in_conflict
  std::map<service::Resource, StreamGauges> streams;
  model::SnapshotPtr snapshot;  // null: no GPU has series of its own
  usage::ClusterUsage usage;
  ledger::HoldingCounts holdings;
  std::int64_t pending_pods = 0;
  std::uint64_t policy_generation = 0;
};

struct MetricsOptions {
  std::string version;  // of the program
  /// Whether each GPU has series of its own (setting gpuMetrics).
  bool gpu_series = true;
  std::size_t max_gpus = static_cast<std::size_t>(base::Limits{}.max_gpu_series);
  std::size_t max_namespaces = static_cast<std::size_t>(base::Limits{}.max_namespace_series);
};

class PrometheusMetrics : public service::Metrics {
 public:
  /// Returns the body of the reply to GET /metrics, of type `text/plain; version=0.0.4`.
  [[nodiscard]] virtual std::string exposition(const ClusterGauges& gauges) const = 0;
};

[[nodiscard]] std::unique_ptr<PrometheusMetrics> make_prometheus_metrics(
    MetricsOptions options = {});

}  // namespace snug::obs
