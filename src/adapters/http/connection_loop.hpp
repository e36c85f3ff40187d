// One thread that accepts connections and handles all that have no request in service: TLS
// handshakes, incomplete heads, idle connections, and discarding what refused clients send. So none
// of these needs its own thread, however slow its client is. A connection leaves the loop when a
// head is complete, and returns after its reply has been sent. ConnectionTimers decides how long
// each may stay and which one is closed in favour of a new one.
//
// One step of a TLS handshake can take a millisecond of processor time. The loop therefore takes at
// most one such step in each turn, and clients in handshakes wait for each other in a queue: they
// delay the head of an established connection, or an accept, by one step and not by one for each
// client.
//
// Ends in two steps: drain (accepts no connections, closes idle ones) and stop. start, drain and
// stop are called from one thread; the rest is thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adapters/http/connection.hpp"
#include "adapters/http/connection_timers.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"

namespace snug::http {

struct ConnectionLoopOptions {
  std::size_t max_open = 0;  // connections, those included that have left the loop for a thread
  std::size_t backlog = 0;   // accepted at most after the drain has begun
  TimerDurations timers;
};

class ConnectionLoop {
 public:
  using ConnectionPtr = std::unique_ptr<Connection>;
  /// Called by the loop's thread. They must not wait or throw.
  struct Hooks {
    /// Makes the connection of an accepted socket. Null: it could not, and has closed `fd`.
    std::function<ConnectionPtr(int fd)> open_connection;
    /// Takes over a connection whose next head is complete.
    std::function<void(ConnectionPtr)> on_head;
    /// Answers a client whose head did not come in time, without waiting; drop() follows.
    std::function<void(Connection&)> on_head_timeout;
    /// Called in each turn. True: it wants to be called again within milliseconds.
    std::function<bool()> on_turn;
  };

  ConnectionLoop(ConnectionLoopOptions bounds, const base::Clock& clock, Hooks hooks);
  ~ConnectionLoop();
  ConnectionLoop(const ConnectionLoop&) = delete;
  ConnectionLoop& operator=(const ConnectionLoop&) = delete;

  /// Owns `listen_fd` from here on. False: no descriptor or thread is left.
  [[nodiscard]] bool start(int listen_fd);
  /// Returns a connection that head_came took over.
  void take_back(ConnectionPtr connection, NextAction after);
  /// Makes the loop take a turn now.
  void wake();

  [[nodiscard]] bool draining() const { return draining_; }
  /// Becomes readable, and stays so, when the loop drains.
  [[nodiscard]] int drain_fd() const { return drain_fd_; }
  /// Accepts no more than the backlog, closes idle connections and waits for the others to end;
  /// true: all have.
  bool drain(std::chrono::milliseconds at_most);
  /// Closes every connection that is in the loop, and each that comes back later.
  void stop();

 private:
  using Returned = std::pair<ConnectionPtr, NextAction>;

  void run();
  [[nodiscard]] int wait_time(bool soon) const;
  void run_turn(bool& soon);
  /// False: no client waits to be accepted, or none can be accepted now.
  bool accept_one();
  /// Closes one connection. False: none is left in the loop.
  [[nodiscard]] bool close_one();
  void take_returned();
  void watch_connection(ConnectionPtr connection, Connection::Step step);
  void handle_event(int fd);
  /// Takes the next step of the first handshake in the queue.
  void step_handshake();
  void take_step(int fd);
  void continue_with(ConnectionPtr connection, Connection::Step step);
  void hand_to_thread(ConnectionPtr connection);
  void close_expired();
  void begin_drain();
  [[nodiscard]] ConnectionPtr remove(int fd);
  void close(ConnectionPtr connection);

  const ConnectionLoopOptions bounds_;
  const base::Clock& clock_;
  const Hooks hooks_;
  int listen_fd_ = -1;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  int drain_fd_ = -1;
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // Used by the loop's thread alone.
  bool listening_ = true;
  ConnectionTimers timers_;
  std::unordered_map<int, ConnectionPtr> connections_;  // by descriptor
  std::deque<int> handshakes_;                          // descriptors whose next step can be taken

  base::Mutex mutex_;
  base::Condition all_ended_;
  std::size_t open_count_ SNUG_GUARDED_BY(mutex_) = 0;
  bool drained_ SNUG_GUARDED_BY(mutex_) = false;  // no more accepts, idle connections are closed
  bool stopped_ SNUG_GUARDED_BY(mutex_) = false;  // take_back() closes
  std::vector<Returned> returned_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
