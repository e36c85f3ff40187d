// Metrics in Prometheus' text format. Every counter series whose labels are known in advance exists
// from the start with the value 0, so that an alert on its rate sees the first increment.
//
// Thread-safe. Counters change with each event. The gauges of ClusterGauges change only in
// set_gauges(), so GET /metrics calls set_gauges() before exposition().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "snug/ledger/totals.hpp"
#include "snug/service/ports.hpp"

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
  ledger::LedgerTotals ledger;
  std::int64_t pending_pods = 0;
};

class PrometheusMetrics : public service::Metrics {
 public:
  virtual void set_gauges(const ClusterGauges& gauges) = 0;
  /// Returns the body of the reply to GET /metrics, of type `text/plain; version=0.0.4`.
  [[nodiscard]] virtual std::string exposition() const = 0;
};

[[nodiscard]] std::unique_ptr<PrometheusMetrics> make_prometheus_metrics();

}  // namespace snug::obs
