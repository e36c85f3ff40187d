// Which agents of nodes are alive: those whose heartbeat has been renewed within heartbeat_lost_ms,
// as this process has seen it. Clocks of other machines do not matter: any change of a renew time
// is a renewal, and a heartbeat that is new to this process counts as just renewed. A renewal takes
// constant time and touches no other state. Thread-safe.
//
// An outage of the watch of the heartbeats kills no agent. While the watch is lost, no agent dies.
// A watch that hangs looks like one without events, so an agent dies only if the watch has shown
// after heartbeat_ms without a renewal that it works. After an outage of heartbeat_ms or longer,
// each living agent has heartbeat_lost_ms for its next renewal.
//
// At most maxNodes agents are known. A dead agent is forgotten for a new one, the one first whose
// last renewal is the longest ago. If the unchanged Lease of a forgotten agent is listed again, the
// agent counts as alive for heartbeat_lost_ms: its node then takes pods that wait for the agent,
// while an agent that is ignored would close its node for ever.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
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
  void stream_alive() override;
  void stream_lost() override;

  /// Whether a list has been received. Before, no agent counts as alive.
  [[nodiscard]] bool is_listed() const;
  /// Whether the agent was alive at the last change that a take_changes() returned or will return.
  [[nodiscard]] bool is_alive(std::string_view node) const;
  /// Whether within the last heartbeat_lost_ms a heartbeat was ignored, because maxNodes other
  /// agents are alive.
  [[nodiscard]] bool ignores_agents() const;
  /// Ends the heartbeats that are lost. Returns the nodes for which is_alive() has changed since
  /// the last call. Takes time in proportion to their number.
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  struct Agent {
    std::string renew_time;
    base::TimePoint seen;  // when this process saw the last renewal
    bool alive = true;
    std::list<std::string>::iterator place;  // in `by_age_` if `alive`, else in `dead_`
  };
  using Agents = std::unordered_map<std::string, Agent>;

  void note_renewal(model::AgentHeartbeat heartbeat) SNUG_REQUIRES(mutex_);
  void note_new(model::AgentHeartbeat heartbeat, base::TimePoint now) SNUG_REQUIRES(mutex_);
  void note_life() SNUG_REQUIRES(mutex_);
  Agents::iterator forget(Agents::iterator agent) SNUG_REQUIRES(mutex_);

  const base::Clock& clock_;
  const std::size_t max_agents_;
  mutable base::Mutex mutex_;
  bool listed_ SNUG_GUARDED_BY(mutex_) = false;
  bool lost_ SNUG_GUARDED_BY(mutex_) = false;
  std::optional<base::TimePoint> last_life_ SNUG_GUARDED_BY(mutex_);   // of the watch
  std::optional<base::TimePoint> outage_end_ SNUG_GUARDED_BY(mutex_);  // of the last long one
  std::optional<base::TimePoint> last_ignored_ SNUG_GUARDED_BY(mutex_);
  /// By node. A dead agent stays here, so that its old Lease is not taken for a new one.
  Agents agents_ SNUG_GUARDED_BY(mutex_);
  std::list<std::string> by_age_ SNUG_GUARDED_BY(mutex_);  // the living ones, oldest renewal first
  std::list<std::string> dead_ SNUG_GUARDED_BY(mutex_);    // the dead ones, likewise
  std::unordered_set<std::string> changed_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
