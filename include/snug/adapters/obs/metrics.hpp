// Metrics in Prometheus' text format. Every series whose labels are known beforehand exists from
// the start, with 0, so that alerts on rates see the first event.
//
// Thread-safe. Counters change as things happen; gauges have the values of the last set_gauges(),
// which is why GET /metrics calls it first.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "snug/ledger/totals.hpp"
#include "snug/service/ports.hpp"

namespace snug::obs {

/// A list and watch.
struct StreamGauges {
  std::chrono::milliseconds age{0};  // since the last bytes; 0 where nothing is watched
  std::string version;               // the last resource version; empty: none yet
};

/// The cluster, and this Snug, at one moment.
struct ClusterGauges {
  bool ready = false;
  bool leads = false;
  bool in_conflict = false;
  std::string lease_holder;  // the other Snug, of a conflict
  std::map<service::Resource, StreamGauges> streams;
  ledger::LedgerTotals ledger;
  std::int64_t pending_pods = 0;
};

class PrometheusMetrics : public service::Metrics {
 public:
  virtual void set_gauges(const ClusterGauges& gauges) = 0;
  /// The reply of GET /metrics, as text/plain; version=0.0.4.
  [[nodiscard]] virtual std::string exposition() const = 0;
};

[[nodiscard]] std::unique_ptr<PrometheusMetrics> make_prometheus_metrics();

}  // namespace snug::obs
