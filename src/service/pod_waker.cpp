#include "service/pod_waker.hpp"

#include <utility>

namespace snug::service {

void PodWaker::wake() {
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  // Both generations only grow, so their sum grows whenever one of them does.
  const base::Generation now_at{snapshot->freed_generation.value +
                                snapshot->ended_intents_generation.value};
  if (woken_since_lead_) {
    if (now_at <= woken_at_) return;
    if (!parts_.pending.any_retryable(snapshot->freed_generation,
                                      snapshot->ended_intents_generation))
      return;
  }
  const base::TimePoint now = parts_.clock.now();
  if (last_try_ && now - *last_try_ < interval_) return;
  last_try_ = now;
  const base::Result<void> touched = parts_.api.wake_pending_pods(now_at);
  if (!touched) {
    const std::string& why = touched.error().message;
    if (std::exchange(logged_failure_, why) == why) return;
    parts_.log.write(LogLevel::kWarn, "waiting pods could not be woken: " + why);
    return;
  }
  logged_failure_.clear();
  woken_since_lead_ = true;
  woken_at_ = now_at;
  parts_.metrics.pods_woken();
}

}  // namespace snug::service
