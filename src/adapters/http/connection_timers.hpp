// Deadlines of the connections that have no thread, and the order in which they are closed to make
// room for new ones. Pure: the caller passes the ids and the time.
//
// | state of a connection     | deadline (TimerDurations)               |
// |---------------------------|-----------------------------------------|
// | refused, discarding input | `refused` after the refusal             |
// | receiving its first head  | `head` after the connection is accepted |
// | receiving a later head    | `head` after the first byte of the head |
// | idle                      | `idle` after the last reply             |
//
// The time for the first head includes the TLS handshake. To make room, refused connections are
// closed first, then those that receive a head, then idle ones. Among connections in one state, the
// one with the earliest deadline is closed first.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snug/base/clock.hpp"

namespace snug::http {

struct TimerDurations {
  std::chrono::milliseconds head{};
  std::chrono::milliseconds idle{};
  std::chrono::milliseconds refused{};
};

class ConnectionTimers {
 public:
  explicit ConnectionTimers(TimerDurations durations) : durations_(durations) {}

  void accepted(int connection_id, base::TimePoint now) {
    set_timer(connection_id, kHead, now + durations_.head);
  }
  /// Must be called when the request of connection `connection_id` has been answered and the
  /// connection stays open.
  void idle(int connection_id, base::TimePoint now) {
    set_timer(connection_id, kIdle, now + durations_.idle);
  }
  void refused(int connection_id, base::TimePoint now) {
    set_timer(connection_id, kRefused, now + durations_.refused);
  }
  /// Must be called when bytes of a head have arrived. Only the first call for each head has an
  /// effect.
  void head_started(int connection_id, base::TimePoint now);
  void remove(int connection_id);

  [[nodiscard]] bool is_refused(int connection_id) const;
  [[nodiscard]] bool is_idle(int connection_id) const;
  [[nodiscard]] std::optional<base::TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<int> expired(base::TimePoint now) const;
  [[nodiscard]] std::optional<int> first_to_close() const;

 private:
  enum State : std::size_t { kRefused, kHead, kIdle, kStates };
  struct Timer {
    State state;
    base::TimePoint deadline;
  };

  void set_timer(int connection_id, State state, base::TimePoint deadline);

  TimerDurations durations_;
  std::unordered_map<int, Timer> timers_by_id_;
  /// For each state, the deadlines and ids of its connections, earliest deadline first.
  std::array<std::set<std::pair<base::TimePoint, int>>, kStates> deadline_queues_;
};

}  // namespace snug::http
