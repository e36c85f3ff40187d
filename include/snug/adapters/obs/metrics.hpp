// Numbers for operators, in Prometheus' text format. Every series whose labels are known beforehand
// exists from the start, with 0, so that alerts on rates see the first event.
//
// Thread-safe. Counters move as things happen; gauges show what set_gauges was last given, which is
// why GET /metrics calls it first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "snug/ledger/ledger.hpp"
#include "snug/service/ports.hpp"

namespace snug {

/// A list and watch.
struct StreamGauges {
  std::chrono::milliseconds age{0};  // since the last sign of life; 0 where nothing is watched
  std::string version;
};

/// The cluster, and this Snug, as they are at one moment.
struct ClusterGauges {
  bool ready = false;
  bool leads = false;
  bool in_conflict = false;
  std::string lease_holder;                                  // the other Snug, of a conflict
  std::map<std::string, StreamGauges, std::less<>> streams;  // by resource
  std::int64_t nodes = 0;
  std::int64_t nodes_in_conflict = 0;
  std::int64_t gpus = 0;
  std::map<GpuClosure, std::int64_t> gpus_closed;
  std::map<HoldingState, std::int64_t> holdings;
  MebiBytes memory_capacity;  // of all GPUs
  MebiBytes memory_used;
  std::int64_t pending_pods = 0;
};

/// Fills the fields that come from the ledger; the caller sets the others.
[[nodiscard]] ClusterGauges read_gauges(Ledger& ledger);

class PrometheusMetrics final : public Metrics {
 public:
  PrometheusMetrics();
  ~PrometheusMetrics() override;
  PrometheusMetrics(const PrometheusMetrics&) = delete;
  PrometheusMetrics& operator=(const PrometheusMetrics&) = delete;

  void verb_done(Verb verb, bool ok, std::int64_t microseconds) override;
  void bind_ended(BindEnd end) override;
  void api_request(std::string_view what, bool ok) override;
  void watch_restarted(std::string_view resource, WatchEnd why) override;
  void room_touched() override;
  void event_dropped() override;
  void reservation_problem(ReservationProblem kind) override;
  void policy_reloaded(bool ok) override;

  void set_gauges(const ClusterGauges& gauges);
  /// What GET /metrics answers, as text/plain; version=0.0.4.
  [[nodiscard]] std::string exposition() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace snug
