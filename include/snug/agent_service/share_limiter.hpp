// The enforcer of shares that the operator chose, as far as the node can have it; and the limits
// that the driver holds for containers. Thread-safe; only refresh() looks at files, once in
// host_check_ms, so that no container waits for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snug/agent/share_limits.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"
#include "snug/base/result.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class ShareLimiter {
 public:
  struct Parts {
    MemoryLimitPort& memory;
    HostFilesPort& host;
    service::Log& log;
  };
  /// `settings`: with the enforcer that the operator chose.
  ShareLimiter(const Parts& parts, agent::ShareSettings settings);

  /// `start_refusal`: RuntimeFeatures::start_refusal.
  void runtime_connected(bool start_refusal) SNUG_EXCLUDES(mutex_);
  /// Looks at the files that the chosen enforcer needs, if it is time. Logs why the node cannot
  /// have it, when that changes. One thread at a time.
  void refresh(base::TimePoint now) SNUG_EXCLUDES(mutex_);
  /// The settings with the enforcer that the node has now: the chosen one, or none.
  [[nodiscard]] agent::ShareSettings settings() SNUG_EXCLUDES(mutex_);
  /// MemoryLimitPort::openings(): when it changes, the limits of running containers are gone.
  [[nodiscard]] std::uint64_t driver_openings() { return parts_.memory.openings(); }
  /// Sets the limits of a container that does not run yet, if the driver is the node's enforcer.
  /// `cgroup_path` as the runtime writes it.
  [[nodiscard]] base::Result<void> limit(std::string_view cgroup_path,
                                         std::span<const agent::MemoryLimit> limits)
      SNUG_EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::string missing_file() const;
  /// Why the node cannot have the chosen enforcer; empty: it can.
  [[nodiscard]] std::string why_not() SNUG_EXCLUDES(mutex_);

  const Parts parts_;
  const agent::ShareSettings chosen_;
  mutable base::Mutex mutex_;
  bool start_refusal_ SNUG_GUARDED_BY(mutex_) = false;
  std::string missing_file_ SNUG_GUARDED_BY(mutex_);  // at the last look, as a sentence
  // Used by refresh() alone.
  base::TimePoint next_look_ = base::TimePoint::min();
  std::string logged_;  // the last reason
};

}  // namespace snug::agent_service
