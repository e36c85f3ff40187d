// Renews the agent's Lease every heartbeat_ms, and after a failure every heartbeat_retry_ms. One
// thread at a time may call tick(); any thread may read the count.
#pragma once

#include <atomic>
#include <cstdint>

#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class Heartbeat {
 public:
  Heartbeat(NodePort& node, service::Log& log) : node_(node), log_(log) {}

  /// Renews the Lease if that is due at `now`. Logs the first of several failures, and the first
  /// success after them.
  void tick(base::TimePoint now);
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  NodePort& node_;
  service::Log& log_;
  base::TimePoint next_ = base::TimePoint::min();
  bool failing_ = false;
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace snug::agent_service
