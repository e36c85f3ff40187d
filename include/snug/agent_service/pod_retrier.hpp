// Makes the kubelet try waiting pods again (agent/waiting_pods.hpp) as soon as the agent can give
// more than before, instead of after the kubelet's own back-off.
//
// Each call of can_give_more() begins a generation. In each generation a pod is retried once: if it
// still waits afterwards, the change did not help, and it is left to the kubelet. The kubelet shows
// a refusal later than it happens, so pods count that are seen to wait until pod_retry_late_ms
// after the change. The sync of the kubelet that shows a refusal also tries the container again, so
// a pod that is seen to wait later was tried after the change. A retry that fails is repeated while
// the pod waits, unless the API server refused it.
//
// The retries of a pod, those that fail too, are at least pod_retry_ms apart, then twice as long,
// up to pod_retry_last_ms. Those of all pods are at most max_pod_retries_per_s, and
// max_pod_retries_at_once in a tick. What a retry changes in a pod begins no generation, so it
// causes no other retry.
//
// Thread-safety: any thread may call can_give_more(), one thread at a time tick().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/clock.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class PodRetrier {
 public:
  PodRetrier(WaitingPodPort& waiting_pods, const PodBook& pods, service::Log& log)
      : waiting_pods_(waiting_pods), pods_(pods), log_(log) {}

  /// The agent can answer the runtime, or has devices, slices or daemons that it did not have.
  /// Call this when the change is in force, not when a pod has changed.
  void can_give_more() { ++generation_; }

  /// Retries the pods for which that is due at `now`. Stops at the first call of the API server
  /// that fails.
  void tick(base::TimePoint now);

 private:
  using Generation = std::uint64_t;
  struct Waiting {
    Generation generation = 0;  // the last one in which it is, or was, to be retried
    bool due = false;
    std::uint64_t scan = 0;   // the last one that saw it wait
    std::uint64_t value = 0;  // of the annotation, as last written
    base::TimePoint not_before = base::TimePoint::min();
    std::chrono::milliseconds wait{base::agent_limits::pod_retry_ms};
  };

  /// Returns null if the pod is not to be retried.
  [[nodiscard]] Waiting* due_pod(const agent::PodView& pod, bool takes_new);
  /// Returns false if no other retry may be made now.
  bool retry(const agent::PodView& pod, Waiting& waiting, base::TimePoint now);
  [[nodiscard]] bool rate_allows(base::TimePoint now);
  void forget_others();
  void log_failure(const base::Error& error);

  WaitingPodPort& waiting_pods_;
  const PodBook& pods_;
  service::Log& log_;
  std::atomic<Generation> generation_{0};
  Generation current_ = 0;
  base::TimePoint takes_until_ = base::TimePoint::min();  // new pods of this generation
  std::map<std::string, Waiting, std::less<>> waiting_;   // by the uid of the pod
  bool some_due_ = false;
  std::uint64_t scan_ = 0;
  std::deque<base::TimePoint> last_second_;  // when pods were retried
  base::TimePoint paused_until_ = base::TimePoint::min();
  std::chrono::milliseconds pause_{base::agent_limits::pod_retry_ms};  // after the next failure
  bool failing_ = false;
};

}  // namespace snug::agent_service
