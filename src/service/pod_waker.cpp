#include "service/pod_waker.hpp"

#include <utility>

namespace snug::service {

void PodWaker::wake() {
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  // Both generations only grow, so their sum grows whenever one of them does.
  const base::Generation wake_generation{snapshot->freed_generation.value +
                                         snapshot->ended_intents_generation.value};
  if (woken_since_lead_) {
    if (wake_generation <= woken_generation_) return;
    if (!parts_.pending.any_retryable(snapshot->freed_generation,
                                      snapshot->ended_intents_generation))
      return;
  }
  const base::TimePoint now = parts_.clock.now();
  if (last_wake_attempt_ && now - *last_wake_attempt_ < wake_interval_) return;
  last_wake_attempt_ = now;
  const base::Result<void> wake_result = parts_.api.wake_pending_pods(wake_generation);
  if (!wake_result) {
    const std::string& wake_error = wake_result.error().message;
    if (std::exchange(logged_failure_, wake_error) == wake_error) return;
    parts_.log.write(LogLevel::kWarn, "waiting pods could not be woken: " + wake_error);
    return;
  }
  logged_failure_.clear();
  woken_since_lead_ = true;
  woken_generation_ = wake_generation;
  parts_.metrics.pods_woken();
}

}  // namespace snug::service
