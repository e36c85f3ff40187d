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

namespace snug {

struct TimerBounds {
  std::chrono::milliseconds head{};
  std::chrono::milliseconds idle{};
  std::chrono::milliseconds refused{};
};

class ConnectionTimers {
 public:
  explicit ConnectionTimers(TimerBounds bounds) : bounds_(bounds) {}

  void accepted(int id, TimePoint now) { set(id, kHead, now + bounds_.head); }
  /// Its request has been answered, and it may send another.
  void idle(int id, TimePoint now) { set(id, kIdle, now + bounds_.idle); }
  void refused(int id, TimePoint now) { set(id, kRefused, now + bounds_.refused); }
  /// Bytes of a head came; only the first of a head change anything.
  void head_came_on(int id, TimePoint now);
  void remove(int id);

  [[nodiscard]] bool is_refused(int id) const;
  [[nodiscard]] bool is_idle(int id) const;
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<int> late(TimePoint now) const;
  [[nodiscard]] std::optional<int> first_to_go() const;

 private:
  enum State : std::size_t { kRefused, kHead, kIdle, kStates };
  struct Entry {
    State state;
    TimePoint until;
  };

  void set(int id, State state, TimePoint until);

  TimerBounds bounds_;
  std::unordered_map<int, Entry> entries_;
  /// By state; within a state by deadline, so that the oldest is the first.
  std::array<std::set<std::pair<TimePoint, int>>, kStates> queues_;
};

}  // namespace snug
