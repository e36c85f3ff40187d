// Kubernetes events about single pods: which GPU a bound pod was given (GpuAssigned), why a pod is
// refused (GpuRefused), and a key that looks like a GPU request but is not one (GpuRequestIgnored).
// The calls that note something are fast and drop what exceeds a limit; tick() finds the sentences
// and passes them to the API port, at most pod_events_per_s.
//
// Refusals: one event for each pod and reason in refusal_event_repeat_ms, and only if the pod is
// still refused refusal_event_delay_ms after filter refused it. Likely mistakes: one event for each
// pod. Only the leader writes.
//
// Thread-safe. tick() must be called by one thread at a time. What was written is forgotten when
// the process ends.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/reservation.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/placement_log.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/service_options.hpp"

namespace snug::service {

class ExplainService;

/// The objects that a PodEvents uses. They must outlive it.
struct PodEventsParts {
  ledger::Ledger& ledger;
  const PendingPods& pending;
  const Readiness& readiness;
  const PlacementLog& placements;
  ExplainService& explanations;
  ApiPort& api;
  Metrics& metrics;
  const base::Clock& clock;
};

class PodEvents {
 public:
  PodEvents(const PodEventsParts& parts, ServiceOptions options);

  void note_bound(model::HoldingPtr pod);
  void note_refused(std::string_view uid, model::ReasonCode reason);
  /// The pod is not bound.
  void note_unbound(const PodInfoPtr& pod);

  /// Writes the events that are due. Call it about every 100 ms. May take some ten milliseconds.
  void tick();

 private:
  struct Refused {
    base::TimePoint due;
    std::string uid;
  };
  struct Mistake {
    base::TimePoint due;
    PodInfoPtr pod;
    std::string sentence;
    bool only_if_pending = false;
  };
  /// Refusal sentences with advice, by the key of equal requests. One is used for a while, since
  /// many pods wait for the same reason.
  struct Explained {
    base::TimePoint made;
    std::string sentence;
  };
  using Words = std::unordered_set<std::string>;

  void refill(base::TimePoint now);
  [[nodiscard]] std::optional<model::HoldingPtr> next_bound();
  [[nodiscard]] std::optional<std::string> next_refused(base::TimePoint now);
  [[nodiscard]] std::optional<Mistake> next_mistake(base::TimePoint now);
  void write_bound(const model::Holding& pod);
  void write_refusal(const std::string& uid, base::TimePoint now);
  void write_mistake(const Mistake& mistake);
  [[nodiscard]] std::string refusal_note(const PodInfoPtr& pod, const model::Refusal& refusal);
  void forget_old(base::TimePoint now) SNUG_REQUIRES(mutex_);
  /// Whether some scheduler that Snug serves, or the cluster's default one, is to bind the pod.
  [[nodiscard]] bool concerns(const model::PodFacts& pod) const;

  const PodEventsParts parts_;
  const ServiceOptions options_;
  const base::Limits& limits_ = options_.limits;

  // Used only by the thread that calls tick().
  std::int64_t allowance_ = 0;  // events that may be written now, in thousandths
  base::TimePoint refilled_;
  base::TimePoint::duration explanation_time_{};  // that explanations may take now
  std::unordered_map<std::string, Explained> explained_;

  base::Mutex mutex_;
  std::deque<model::HoldingPtr> bound_ SNUG_GUARDED_BY(mutex_);
  std::deque<Refused> refused_ SNUG_GUARDED_BY(mutex_);  // earliest first
  std::unordered_set<std::string, model::StringHash, std::equal_to<>> waiting_
      SNUG_GUARDED_BY(mutex_);                            // the uids of `refused_`
  std::deque<Mistake> mistakes_ SNUG_GUARDED_BY(mutex_);  // earliest first
  /// The refusals that were written in the last refusal_event_repeat_ms, as time and key, oldest
  /// first, and the same keys.
  std::deque<std::pair<base::TimePoint, std::string>> written_ SNUG_GUARDED_BY(mutex_);
  Words written_keys_ SNUG_GUARDED_BY(mutex_);
  /// The uids of the pods whose keys were examined, the oldest first, and the same uids.
  std::deque<std::string> examined_ SNUG_GUARDED_BY(mutex_);
  std::unordered_set<std::string, model::StringHash, std::equal_to<>> examined_uids_
      SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
