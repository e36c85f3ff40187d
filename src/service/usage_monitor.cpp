#include "snug/service/usage_monitor.hpp"

#include <utility>

#include "service/layout_changes.hpp"
#include "service/pending_reason.hpp"

namespace snug::service {

MeasuredUsage UsageMonitor::measure() const {
  model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const LayoutChanges layout_changes(*snapshot);
  std::vector<model::ReasonCode> pending;
  for (const PendingRow& pending_pod : pods_waiting_for_gpu(parts_.pending, parts_.ledger)) {
    const model::PodFacts& pod = pending_pod.pod->facts;
    // No scheduler asks about a pod with scheduling gates before they are removed.
    if (pod.gated || !options_.serves(pod.scheduler_name)) continue;
    pending.push_back(pending_reason(pending_pod, layout_changes).code);
  }
  CurrentPolicy policy = parts_.policy.current();
  usage::ClusterUsage usage = usage::cluster_usage(
      {.snapshot = *snapshot, .sharing = policy.policy->sharing, .pending = pending});
  return {std::move(snapshot), std::move(policy), std::move(usage)};
}

void UsageMonitor::tick() {
  const base::TimePoint now = parts_.clock.now();
  if (last_sample_ && now - *last_sample_ < interval_) return;
  if (!parts_.readiness.is_ready() && !parts_.readiness.is_warm_standby()) return;
  last_sample_ = now;
  const usage::UsagePoint point = usage::usage_point(measure().usage, parts_.wall_clock.now());
  const base::MutexLock lock(mutex_);
  if (points_.size() >= max_points_) points_.pop_front();
  points_.push_back(point);
}

std::vector<usage::UsagePoint> UsageMonitor::history() const {
  const base::MutexLock lock(mutex_);
  return {points_.begin(), points_.end()};
}

}  // namespace snug::service
