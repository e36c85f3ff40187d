// The victims that preempt has named for a pod. kube-scheduler evicts them one after the other and
// tries the pod again as soon as its own watch shows that one is gone, which may be before it has
// evicted the last one (Kubernetes 1.33), and before Snug's watch shows it. Remembering them,
// preempt names no further victims meanwhile.
//
// A pod's victims are remembered for named_victims_ms, those of at most max_named_victims pods.
// Thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::service {

class NamedVictims {
 public:
  using UidsByNode = std::map<std::string, std::vector<std::string>, std::less<>>;

  NamedVictims(const base::Clock& clock, const base::Limits& limits)
      : clock_(clock),
        lifetime_(limits.named_victims_ms),
        max_pods_(static_cast<std::size_t>(limits.max_named_victims)) {}

  /// Remembers one answer of preempt, in place of earlier ones for the same pod.
  void note(std::string_view preemptor_uid, const std::vector<codec::NodeVictims>& answer);
  /// The uids of the victims of the last answer for the pod, on each node that has any.
  [[nodiscard]] UidsByNode find(std::string_view preemptor_uid) const;

 private:
  struct Answer {
    base::TimePoint noted;
    std::string preemptor_uid;
    UidsByNode victims;
  };

  const base::Clock& clock_;
  const std::chrono::milliseconds lifetime_;
  const std::size_t max_pods_;
  mutable base::Mutex mutex_;
  std::deque<Answer> answers_ SNUG_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace snug::service
