// Computes how full the cluster is (usage/cluster_usage.hpp) when it is asked, and keeps samples of
// it for GET /v1/history. The samples are lost when the program ends.
//
// Thread-safe. tick() must be called by one thread at a time. Nothing here holds the ledger's mutex
// for longer than a copy of a pointer or the look-up of 1,024 pending pods, some 100 us.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/service_options.hpp"
#include "snug/usage/cluster_usage.hpp"

namespace snug::service {

/// The objects that a UsageMonitor uses. They must outlive it.
struct UsageParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  const Readiness& readiness;
  const PolicyStore& policy;
  const base::Clock& clock;
  const base::WallClock& wall_clock;
};

/// The usage at one moment, with the snapshot and the policy that it was computed from.
struct MeasuredUsage {
  model::SnapshotPtr snapshot;
  CurrentPolicy policy;
  usage::ClusterUsage usage;
};

class UsageMonitor {
 public:
  UsageMonitor(const UsageParts& parts, ServiceOptions options)
      : parts_(parts),
        options_(std::move(options)),
        interval_(options_.limits.history_interval_ms),
        max_points_(static_cast<std::size_t>(options_.limits.history_points)) {}

  [[nodiscard]] MeasuredUsage measure() const;

  /// Takes a sample if the interval since the last one has passed. Takes none while the state of
  /// the cluster is unknown, that is while Snug is neither ready nor a warm standby.
  void tick();
  /// The samples, oldest first.
  [[nodiscard]] std::vector<usage::UsagePoint> history() const;
  [[nodiscard]] std::chrono::milliseconds interval() const { return interval_; }

 private:
  const UsageParts parts_;
  const ServiceOptions options_;
  const std::chrono::milliseconds interval_;
  const std::size_t max_points_;
  std::optional<base::TimePoint> last_sample_;  // used only by the thread that calls tick()
  mutable base::Mutex mutex_;
  std::deque<usage::UsagePoint> points_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
