// Measures how much of each GPU is in use, for the mark NodeMarks::usage: at most once in
// usage_interval_ms, so that no agent writes its Node more often because of it. While the driver
// does not answer, the usage is unknown.
//
// Thread-safety: the thread that calls DevicePort::read() calls tick(), any thread annotation().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/agent/published_usage.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class UsageMeter {
 public:
  UsageMeter(UsagePort& port, service::Log& log) : port_(port), log_(log) {}

  /// Reads what is due at `now`.
  void tick(base::TimePoint now) SNUG_EXCLUDES(mutex_);
  /// The value of the annotation snug.dev/usage; nullopt: the usage of no GPU is known.
  [[nodiscard]] std::optional<std::string> annotation() const SNUG_EXCLUDES(mutex_);

 private:
  [[nodiscard]] std::vector<agent::PublishedUsage> in_steps(
      const std::vector<DeviceUsage>& measured) const;

  UsagePort& port_;
  service::Log& log_;
  base::TimePoint next_read_ = base::TimePoint::min();  // used by tick() alone, like the next two
  std::vector<agent::PublishedUsage> last_;
  bool has_failed_ = false;  // the last read did
  mutable base::Mutex mutex_;
  std::optional<std::string> annotation_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::agent_service
