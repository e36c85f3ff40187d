#include "snug/service/agent_heartbeats.hpp"

#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::service {

void AgentHeartbeats::heartbeats_listed(std::vector<model::AgentHeartbeat> heartbeats) {
  const base::MutexLock lock(mutex_);
  std::unordered_set<std::string_view> listed_nodes;
  for (const model::AgentHeartbeat& heartbeat : heartbeats) listed_nodes.insert(heartbeat.node);
  for (auto agent = agents_.begin(); agent != agents_.end();) {
    if (listed_nodes.contains(agent->first)) {
      ++agent;
      continue;
    }
    if (agent->second.alive) {
      by_age_.erase(agent->second.place);
      changed_.insert(agent->first);
    }
    agent = agents_.erase(agent);
  }
  for (model::AgentHeartbeat& heartbeat : heartbeats) note_renewal(std::move(heartbeat));
}

void AgentHeartbeats::heartbeat_changed(model::AgentHeartbeat heartbeat) {
  const base::MutexLock lock(mutex_);
  note_renewal(std::move(heartbeat));
}

void AgentHeartbeats::heartbeat_gone(std::string_view node) {
  const base::MutexLock lock(mutex_);
  const auto agent = agents_.find(std::string(node));
  if (agent == agents_.end()) return;
  if (agent->second.alive) {
    by_age_.erase(agent->second.place);
    changed_.insert(agent->first);
  }
  agents_.erase(agent);
}

bool AgentHeartbeats::is_alive(std::string_view node) const {
  const base::MutexLock lock(mutex_);
  const auto agent = agents_.find(std::string(node));
  return agent != agents_.end() && agent->second.alive;
}

std::vector<std::string> AgentHeartbeats::take_changes() {
  const base::TimePoint now = clock_.now();
  const base::MutexLock lock(mutex_);
  while (!by_age_.empty()) {
    Agent& oldest = agents_.at(by_age_.front());
    if (now - oldest.seen < std::chrono::milliseconds(base::agent_limits::heartbeat_lost_ms)) break;
    oldest.alive = false;
    changed_.insert(std::move(by_age_.front()));
    by_age_.pop_front();
  }
  std::vector<std::string> changed(changed_.begin(), changed_.end());
  changed_.clear();
  return changed;
}

void AgentHeartbeats::note_renewal(model::AgentHeartbeat heartbeat) {
  if (heartbeat.node.empty()) return;
  const base::TimePoint now = clock_.now();
  const auto known = agents_.find(heartbeat.node);
  if (known == agents_.end()) {
    if (agents_.size() >= max_agents_) return;
    changed_.insert(heartbeat.node);
    const auto place = by_age_.insert(by_age_.end(), heartbeat.node);
    agents_.emplace(
        std::move(heartbeat.node),
        Agent{.renew_time = std::move(heartbeat.renew_time), .seen = now, .place = place});
    return;
  }
  Agent& agent = known->second;
  if (agent.renew_time == heartbeat.renew_time) return;
  agent.renew_time = std::move(heartbeat.renew_time);
  agent.seen = now;
  if (agent.alive) {
    by_age_.splice(by_age_.end(), by_age_, agent.place);
    return;
  }
  agent.alive = true;
  agent.place = by_age_.insert(by_age_.end(), known->first);
  changed_.insert(known->first);
}

}  // namespace snug::service
