// What one call of kube-scheduler was about and what was decided, for its line in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "service/recent.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/model/pod.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

/// Counts how often kube-scheduler has tried each pod, so that the lines of one attempt have the
/// same `request`: the first characters of the pod's uid, and the number of the attempt. Remembers
/// the max_pending_pods pods whose attempts are the latest. Thread-safe.
class AttemptCounter {
 public:
  explicit AttemptCounter(const base::Limits& limits)
      : attempts_(static_cast<std::size_t>(limits.max_pending_pods)) {}

  /// An attempt begins with filter.
  [[nodiscard]] std::string request_id(Verb verb, std::string_view uid);
  void forget(std::string_view uid);

 private:
  base::Mutex mutex_;
  Recent<std::uint64_t> attempts_ SNUG_GUARDED_BY(mutex_);
};

/// Collects nothing unless the log writes debug lines. Not thread-safe.
class DecisionLine {
 public:
  DecisionLine(Verb verb, Log& log, AttemptCounter& attempts)
      : verb_(verb), log_(log), attempts_(attempts), enabled_(log.is_enabled(LogLevel::kDebug)) {}

  [[nodiscard]] bool is_enabled() const { return enabled_; }
  void about(const model::PodFacts& pod) { set_pod(pod.name_space, pod.name, pod.uid); }
  void about(const codec::BindCall& call);
  /// `reason`: why no node was named, or how a bind ended.
  void decided(std::string_view reason, std::string_view node = {});
  /// Writes the line, if about() was called.
  void write(std::chrono::microseconds duration);

 private:
  void set_pod(std::string_view name_space, std::string_view pod, std::string_view uid);

  const Verb verb_;
  Log& log_;
  AttemptCounter& attempts_;
  const bool enabled_;
  std::string name_space_;
  std::string pod_;
  std::string uid_;
  std::string node_;
  std::string reason_;
};

}  // namespace snug::service
