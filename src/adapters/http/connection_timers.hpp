// Deadlines of the connections that have no thread, and the order in which they are closed in
// favour of new ones. Pure: the caller passes the ids and the time.
//
// | state                                            | ends after              |
// |--------------------------------------------------|-------------------------|
// | refused: what it still sends is dropped          | `refused`               |
// | in a head, of a new connection                   | `head` from its accept  |
// | in a head, of one that has been answered before  | `head` from its 1st byte|
// | idle                                             | `idle`                  |
//
// A new connection is in a head from its accept, TLS handshake included. In favour of a new one, a
// refused connection is closed first, then one in a head, then an idle one; within a state, the one
// that has been in it the longest.
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
  explicit ConnectionTimers(TimerDurations bounds) : bounds_(bounds) {}

  void accepted(int id, base::TimePoint now) { set(id, kHead, now + bounds_.head); }
  /// Its request has been answered, and it may send another.
  void idle(int id, base::TimePoint now) { set(id, kIdle, now + bounds_.idle); }
  void refused(int id, base::TimePoint now) { set(id, kRefused, now + bounds_.refused); }
  /// Bytes of a head came; only the first of a head change anything.
  void head_started(int id, base::TimePoint now);
  void remove(int id);

  [[nodiscard]] bool is_refused(int id) const;
  [[nodiscard]] bool is_idle(int id) const;
  [[nodiscard]] std::optional<base::TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<int> expired(base::TimePoint now) const;
  [[nodiscard]] std::optional<int> first_to_close() const;

 private:
  enum State : std::size_t { kRefused, kHead, kIdle, kStates };
  struct Entry {
    State state;
    base::TimePoint until;
  };

  void set(int id, State state, base::TimePoint until);

  TimerDurations bounds_;
  std::unordered_map<int, Entry> entries_;
  /// By state; within a state by deadline, so that the oldest is the first.
  std::array<std::set<std::pair<base::TimePoint, int>>, kStates> queues_;
};

}  // namespace snug::http
