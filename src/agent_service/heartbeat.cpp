#include "snug/agent_service/heartbeat.hpp"

#include <chrono>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {

void Heartbeat::tick(base::TimePoint now) {
  if (now < next_) return;
  const auto renewed = node_.renew_heartbeat();
  if (renewed) {
    next_ = now + std::chrono::milliseconds(base::agent_limits::heartbeat_ms);
    if (std::exchange(failing_, false))
      log_.write(service::LogLevel::kInfo, "the agent's Lease is renewed again");
    return;
  }
  next_ = now + std::chrono::milliseconds(base::agent_limits::heartbeat_retry_ms);
  ++failures_;
  if (std::exchange(failing_, true)) return;
  log_.write(service::LogLevel::kWarn,
             "the agent's Lease cannot be renewed: " + renewed.error().message);
}

}  // namespace snug::agent_service
