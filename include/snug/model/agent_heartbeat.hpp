// The heartbeat of a node's agent: a Lease that the agent renews. Plain data.
#pragma once

#include <string>
#include <string_view>

namespace snug::model {

/// The Lease of the agent of node N is named `agent.N`, and its holder is N.
inline constexpr std::string_view kHeartbeatNamePrefix = "agent.";
/// The label that selects these Leases. Its value is `true`.
inline constexpr std::string_view kHeartbeatLabel = "snug.dev/agent";

struct AgentHeartbeat {
  std::string node;        // empty: the Lease is not the heartbeat of an agent
  std::string renew_time;  // as the agent wrote it; it changes with each renewal

  friend bool operator==(const AgentHeartbeat&, const AgentHeartbeat&) = default;
};

}  // namespace snug::model
