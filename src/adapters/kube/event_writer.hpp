// Writes Kubernetes events from a bounded queue, in a thread of its own, so that notify() never
// waits for the network. An event is not written if another event of the last event_repeat_ms
// had the same object, reason and note. An event that cannot be written is logged and dropped,
// after four attempts if the API server does not answer. Between two attempts the thread backs
// off, and the other events stay in the queue. Thread-safe.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>

#include "adapters/kube/api_caller.hpp"
#include "adapters/kube/backoff.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

class EventWriter {
 public:
  /// `api_caller` must outlive this object, whose destructor aborts all calls of `api_caller` and
  /// does not wait for a back-off.
  EventWriter(ApiCaller& api_caller, const KubeOptions& options, const KubeContext& context);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Returns as ApiPort::notify() does.
  bool notify(const model::Notice& notice) SNUG_EXCLUDES(mutex_);

 private:
  void forget_old_events() SNUG_REQUIRES(mutex_);
  void forget_oldest_event() SNUG_REQUIRES(mutex_);
  void write_queued_events() SNUG_EXCLUDES(mutex_);
  void post_event(const model::Notice& notice) SNUG_EXCLUDES(mutex_);
  /// Waits for the back-off after a failed attempt. Returns false at once if the writer is ending.
  [[nodiscard]] bool back_off() SNUG_EXCLUDES(mutex_);

  ApiCaller& api_caller_;
  service::Metrics& metrics_;
  service::Log& log_;
  const base::Clock& clock_;
  const base::Limits limits_;
  const std::string reporting_host_;
  std::mt19937_64 event_name_random_;  // only the writing thread uses this and the next member
  Backoff backoff_;

  base::Mutex mutex_;
  base::Condition queue_changed_;
  std::deque<model::Notice> event_queue_ SNUG_GUARDED_BY(mutex_);
  /// The events of the last event_repeat_ms, as time and key, the oldest first; recent_event_keys_
  /// holds the same keys.
  std::deque<std::pair<base::TimePoint, std::string>> recent_events_ SNUG_GUARDED_BY(mutex_);
  std::unordered_set<std::string> recent_event_keys_ SNUG_GUARDED_BY(mutex_);
  bool ending_ SNUG_GUARDED_BY(mutex_) = false;
  std::thread writer_thread_;
};

}  // namespace snug::kube
