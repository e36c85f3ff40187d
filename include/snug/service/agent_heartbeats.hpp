// Which agents of nodes are alive: those whose heartbeat has been renewed within heartbeat_lost_ms,
// as this process has seen it. Clocks of other machines do not matter: any change of a renew time
// is a renewal, and a heartbeat that is new to this process counts as just renewed. A renewal takes
// constant time and touches no other state. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class AgentHeartbeats final : public HeartbeatSink {
 public:
  AgentHeartbeats(const base::Clock& clock, const base::Limits& limits)
      : clock_(clock), max_agents_(static_cast<std::size_t>(limits.max_nodes)) {}

  void heartbeats_listed(std::vector<model::AgentHeartbeat> heartbeats) override;
  void heartbeat_changed(model::AgentHeartbeat heartbeat) override;
  void heartbeat_gone(std::string_view node) override;

  /// Whether the agent was alive at the last change that a take_changes() returned or will return.
  [[nodiscard]] bool is_alive(std::string_view node) const;
  /// Ends the heartbeats that are lost. Returns the nodes for which is_alive() has changed since
  /// the last call. Takes time in proportion to their number.
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  struct Agent {
    std::string renew_time;
    base::TimePoint seen;  // when this process saw the last renewal
    bool alive = true;
    std::list<std::string>::iterator place;  // in `by_age_`; valid only if `alive`
  };

  void note_renewal(model::AgentHeartbeat heartbeat) SNUG_REQUIRES(mutex_);

  const base::Clock& clock_;
  const std::size_t max_agents_;
  mutable base::Mutex mutex_;
  /// By node. An agent whose heartbeat is lost stays here, so that its old Lease is not taken for a
  /// new one. At most max_nodes; more are ignored.
  std::unordered_map<std::string, Agent> agents_ SNUG_GUARDED_BY(mutex_);
  std::list<std::string> by_age_ SNUG_GUARDED_BY(mutex_);  // the living ones, oldest renewal first
  std::unordered_set<std::string> changed_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
