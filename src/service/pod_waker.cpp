#include "service/pod_waker.hpp"

#include <utility>

namespace snug {

void PodWaker::wake() {
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  // Both only grow, and so does their sum.
  const Generation now_at{snapshot->room_generation.value + snapshot->intents_ended.value};
  if (woken_since_lead_) {
    if (now_at <= woken_at_) return;
    if (!parts_.pending.any_waiting(snapshot->room_generation, snapshot->intents_ended)) return;
  }
  const TimePoint now = parts_.clock.now();
  if (last_try_ && now - *last_try_ < interval_) return;
  last_try_ = now;
  const Result<void> touched = parts_.api.touch_room(now_at);
  if (!touched) {
    const std::string& why = touched.error().message;
    if (std::exchange(logged_failure_, why) == why) return;
    parts_.log.write(LogLevel::kWarn, "waiting pods could not be woken: " + why);
    return;
  }
  logged_failure_.clear();
  woken_since_lead_ = true;
  woken_at_ = now_at;
  parts_.metrics.room_touched();
}

}  // namespace snug
