#include "snug/service/agent_heartbeats.hpp"

#include <algorithm>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::service {
namespace {

constexpr std::chrono::milliseconds kLost{base::agent_limits::heartbeat_lost_ms};
constexpr std::chrono::milliseconds kRenewal{base::agent_limits::heartbeat_ms};

}  // namespace

void AgentHeartbeats::heartbeats_listed(std::vector<model::AgentHeartbeat> heartbeats) {
  const base::MutexLock lock(mutex_);
  listed_ = true;
  note_life();
  std::unordered_set<std::string_view> listed_nodes;
  for (const model::AgentHeartbeat& heartbeat : heartbeats) listed_nodes.insert(heartbeat.node);
  for (auto agent = agents_.begin(); agent != agents_.end();) {
    agent = listed_nodes.contains(agent->first) ? std::next(agent) : forget(agent);
  }
  // The known ones first: else a dead one, forgotten for a new one, would be a new one itself when
  // the list comes to it.
  std::ranges::stable_partition(
      heartbeats, [&](const model::AgentHeartbeat& heartbeat)
                      SNUG_REQUIRES(mutex_) { return agents_.contains(heartbeat.node); });
  for (model::AgentHeartbeat& heartbeat : heartbeats) note_renewal(std::move(heartbeat));
}

void AgentHeartbeats::heartbeat_changed(model::AgentHeartbeat heartbeat) {
  const base::MutexLock lock(mutex_);
  note_renewal(std::move(heartbeat));
}

void AgentHeartbeats::heartbeat_gone(std::string_view node) {
  const base::MutexLock lock(mutex_);
  if (const auto agent = agents_.find(std::string(node)); agent != agents_.end()) forget(agent);
}

void AgentHeartbeats::stream_alive() {
  const base::MutexLock lock(mutex_);
  note_life();
}

void AgentHeartbeats::stream_lost() {
  const base::MutexLock lock(mutex_);
  lost_ = true;
}

bool AgentHeartbeats::is_listed() const {
  const base::MutexLock lock(mutex_);
  return listed_;
}

bool AgentHeartbeats::is_alive(std::string_view node) const {
  const base::MutexLock lock(mutex_);
  const auto agent = agents_.find(std::string(node));
  return agent != agents_.end() && agent->second.alive;
}

bool AgentHeartbeats::ignores_agents() const {
  const base::TimePoint now = clock_.now();
  const base::MutexLock lock(mutex_);
  return last_ignored_ && now - *last_ignored_ < kLost;
}

std::vector<std::string> AgentHeartbeats::take_changes() {
  const base::TimePoint now = clock_.now();
  const base::MutexLock lock(mutex_);
  const bool may_die = !lost_ && last_life_ && (!outage_end_ || now - *outage_end_ >= kLost);
  while (may_die && !by_age_.empty()) {
    Agent& oldest = agents_.at(by_age_.front());
    if (now - oldest.seen < kLost || *last_life_ - oldest.seen < kRenewal) break;
    oldest.alive = false;
    changed_.insert(by_age_.front());
    dead_.splice(dead_.end(), by_age_, oldest.place);
  }
  std::vector<std::string> changed(changed_.begin(), changed_.end());
  changed_.clear();
  return changed;
}

void AgentHeartbeats::note_renewal(model::AgentHeartbeat heartbeat) {
  if (heartbeat.node.empty()) return;
  const base::TimePoint now = clock_.now();
  const auto known = agents_.find(heartbeat.node);
  if (known == agents_.end()) return note_new(std::move(heartbeat), now);
  Agent& agent = known->second;
  if (agent.renew_time == heartbeat.renew_time) return;
  agent.renew_time = std::move(heartbeat.renew_time);
  agent.seen = now;
  by_age_.splice(by_age_.end(), agent.alive ? by_age_ : dead_, agent.place);
  if (!std::exchange(agent.alive, true)) changed_.insert(known->first);
}

void AgentHeartbeats::note_new(model::AgentHeartbeat heartbeat, base::TimePoint now) {
  if (agents_.size() >= max_agents_) {
    if (dead_.empty()) {
      last_ignored_ = now;
      return;
    }
    forget(agents_.find(dead_.front()));
  }
  changed_.insert(heartbeat.node);
  const auto place = by_age_.insert(by_age_.end(), heartbeat.node);
  agents_.emplace(
      std::move(heartbeat.node),
      Agent{.renew_time = std::move(heartbeat.renew_time), .seen = now, .place = place});
}

void AgentHeartbeats::note_life() {
  const base::TimePoint now = clock_.now();
  if (std::exchange(lost_, false) && last_life_ && now - *last_life_ >= kRenewal) outage_end_ = now;
  last_life_ = now;
}

AgentHeartbeats::Agents::iterator AgentHeartbeats::forget(Agents::iterator agent) {
  if (agent->second.alive) changed_.insert(agent->first);
  (agent->second.alive ? by_age_ : dead_).erase(agent->second.place);
  return agents_.erase(agent);
}

}  // namespace snug::service
