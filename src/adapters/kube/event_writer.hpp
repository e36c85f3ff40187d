// Writes Kubernetes Warning events in a thread of its own: a bounded queue in front, a bounded
// memory of what was said lately, so that the same sentence about the same pod is not repeated.
// warn() never waits for the network. What cannot be written is dropped. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>

#include "adapters/kube/api_caller.hpp"

namespace snug {

class EventWriter {
 public:
  /// `caller` must outlive this.
  EventWriter(ApiCaller& caller, const KubeOptions& options, const KubeContext& context);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void warn(const Notice& notice);

 private:
  void forget_old();
  void forget_oldest();
  void run();
  void write(const Notice& notice);
  [[nodiscard]] std::string event_json(const Notice& notice);

  ApiCaller& caller_;
  Metrics& metrics_;
  Log& log_;
  const Clock& clock_;
  const Limits limits_;
  const std::string host_;
  std::mt19937_64 random_;  // the writing thread's

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Notice> queue_;
  /// What was said and when, the oldest first; and the same, to be found quickly.
  std::deque<std::pair<TimePoint, std::string>> said_;
  std::unordered_set<std::string> said_index_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace snug
