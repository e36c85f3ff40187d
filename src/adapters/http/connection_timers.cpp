#include "adapters/http/connection_timers.hpp"

#include <algorithm>

namespace snug::http {

void ConnectionTimers::set_timer(int connection_id, State state, base::TimePoint deadline) {
  remove(connection_id);
  timers_by_id_.emplace(connection_id, Timer{state, deadline});
  deadline_queues_[state].emplace(deadline, connection_id);
}

void ConnectionTimers::remove(int connection_id) {
  const auto timer = timers_by_id_.find(connection_id);
  if (timer == timers_by_id_.end()) return;
  deadline_queues_[timer->second.state].erase({timer->second.deadline, connection_id});
  timers_by_id_.erase(timer);
}

void ConnectionTimers::head_started(int connection_id, base::TimePoint now) {
  if (is_idle(connection_id)) set_timer(connection_id, kHead, now + durations_.head);
}

bool ConnectionTimers::is_refused(int connection_id) const {
  const auto timer = timers_by_id_.find(connection_id);
  return timer != timers_by_id_.end() && timer->second.state == kRefused;
}

bool ConnectionTimers::is_idle(int connection_id) const {
  const auto timer = timers_by_id_.find(connection_id);
  return timer != timers_by_id_.end() && timer->second.state == kIdle;
}

std::optional<base::TimePoint> ConnectionTimers::next_deadline() const {
  std::optional<base::TimePoint> earliest_deadline;
  for (const auto& queue : deadline_queues_) {
    if (queue.empty()) continue;
    earliest_deadline =
        std::min(earliest_deadline.value_or(queue.begin()->first), queue.begin()->first);
  }
  return earliest_deadline;
}

std::vector<int> ConnectionTimers::expired(base::TimePoint now) const {
  std::vector<int> expired_ids;
  for (const auto& queue : deadline_queues_) {
    for (auto next_timer = queue.begin(); next_timer != queue.end() && next_timer->first <= now;
         ++next_timer) {
      expired_ids.push_back(next_timer->second);
    }
  }
  return expired_ids;
}

std::optional<int> ConnectionTimers::first_to_close() const {
  const auto first_queue =
      std::ranges::find_if(deadline_queues_, [](const auto& queue) { return !queue.empty(); });
  if (first_queue == deadline_queues_.end()) return std::nullopt;
  return first_queue->begin()->second;
}

}  // namespace snug::http
