// Wakes refused pods when capacity is freed, or when an intent that caused a refusal ends. It
// updates an annotation, which makes kube-scheduler retry them. Used by one thread.
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
      : parts_(parts), wake_interval_(limits.wake_interval_ms) {}

  /// Wakes the refused pods if one of them can be retried, but at most once per
  /// wake_interval_ms.
  void wake();
  /// Must be called while this Snug is a standby. When it leads again, wake() wakes all refused
  /// pods once: they may have been refused by another leader.
  void stand_by() { woken_since_lead_ = false; }

 private:
  PodWakerParts parts_;
  const std::chrono::milliseconds wake_interval_;
  bool woken_since_lead_ = false;
  base::Generation woken_generation_;
  std::optional<base::TimePoint> last_wake_attempt_;
  std::string logged_failure_;  // the error of the last attempt; empty: it succeeded
};

}  // namespace snug::service
