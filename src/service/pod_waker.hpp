// Wakes refused pods when capacity is freed, or when an intent ends for which they were refused: an
// update of an annotation makes kube-scheduler try them again. Used by one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

struct PodWakerParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  ApiPort& api;
  Metrics& metrics;
  Log& log;
  const base::Clock& clock;
};

class PodWaker {
 public:
  PodWaker(PodWakerParts parts, const base::Limits& limits)
      : parts_(parts), interval_(limits.room_touch_interval_ms) {}

  /// At most once in roomTouchIntervalMs.
  void wake();
  /// This Snug does not lead: the next leader may refuse pods, so they are woken when it leads
  /// again.
  void stand_by() { woken_since_lead_ = false; }

 private:
  PodWakerParts parts_;
  const std::chrono::milliseconds interval_;
  bool woken_since_lead_ = false;
  base::Generation woken_at_;
  std::optional<base::TimePoint> last_try_;
  std::string logged_failure_;  // of the last try; empty: it succeeded
};

}  // namespace snug::service
