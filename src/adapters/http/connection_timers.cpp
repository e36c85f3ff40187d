#include "adapters/http/connection_timers.hpp"

#include <algorithm>

namespace snug::http {

void ConnectionTimers::set(int id, State state, base::TimePoint until) {
  remove(id);
  entries_.emplace(id, Entry{state, until});
  queues_[state].emplace(until, id);
}

void ConnectionTimers::remove(int id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  queues_[found->second.state].erase({found->second.until, id});
  entries_.erase(found);
}

void ConnectionTimers::head_started(int id, base::TimePoint now) {
  if (is_idle(id)) set(id, kHead, now + bounds_.head);
}

bool ConnectionTimers::is_refused(int id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.state == kRefused;
}

bool ConnectionTimers::is_idle(int id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.state == kIdle;
}

std::optional<base::TimePoint> ConnectionTimers::next_deadline() const {
  std::optional<base::TimePoint> next;
  for (const auto& queue : queues_) {
    if (queue.empty()) continue;
    next = std::min(next.value_or(queue.begin()->first), queue.begin()->first);
  }
  return next;
}

std::vector<int> ConnectionTimers::expired(base::TimePoint now) const {
  std::vector<int> late;
  for (const auto& queue : queues_) {
    for (auto at = queue.begin(); at != queue.end() && at->first <= now; ++at) {
      late.push_back(at->second);
    }
  }
  return late;
}

std::optional<int> ConnectionTimers::first_to_close() const {
  const auto found =
      std::ranges::find_if(queues_, [](const auto& queue) { return !queue.empty(); });
  if (found == queues_.end()) return std::nullopt;
  return found->begin()->second;
}

}  // namespace snug::http
