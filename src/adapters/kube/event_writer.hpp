// Writes Kubernetes Warning events from a bounded queue, in a thread of its own, so that warn()
// never waits for the network. An event is not written if another event of the last event_repeat_ms
// had the same object, reason and note. An event that cannot be written is logged and dropped.
// Thread-safe.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>

#include "adapters/kube/api_caller.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

class EventWriter {
 public:
  /// `caller` must outlive this object, whose destructor aborts all calls of `caller`.
  EventWriter(ApiCaller& caller, const KubeOptions& options, const KubeContext& context);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void warn(const model::Notice& notice) SNUG_EXCLUDES(mutex_);

 private:
  void forget_old() SNUG_REQUIRES(mutex_);
  void forget_oldest() SNUG_REQUIRES(mutex_);
  void run() SNUG_EXCLUDES(mutex_);
  void write(const model::Notice& notice);

  ApiCaller& caller_;
  service::Metrics& metrics_;
  service::Log& log_;
  const base::Clock& clock_;
  const base::Limits limits_;
  const std::string host_;
  std::mt19937_64 random_;  // only the writing thread uses it

  base::Mutex mutex_;
  base::Condition wake_;
  std::deque<model::Notice> queue_ SNUG_GUARDED_BY(mutex_);
  /// The events of the last event_repeat_ms, as time and key, the oldest first; recent_index_ holds
  /// the same keys.
  std::deque<std::pair<base::TimePoint, std::string>> recent_ SNUG_GUARDED_BY(mutex_);
  std::unordered_set<std::string> recent_index_ SNUG_GUARDED_BY(mutex_);
  bool ending_ SNUG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace snug::kube
