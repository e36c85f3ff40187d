// A thread that accepts connections and handles every connection whose request no thread is
// serving: it performs TLS handshakes, receives heads, keeps idle connections, and discards input
// of refused clients. So none of these connections needs a thread of its own, even if its client is
// slow. A connection leaves the loop when a head is complete, and returns after its reply has been
// sent. ConnectionTimers decides how long a connection may stay, and which one is closed when a new
// one needs its place.
//
// One step of a TLS handshake can take a millisecond of processor time. The loop therefore takes at
// most one such step in each turn, and queues the other handshakes. So handshakes delay an accept,
// or the head of an established connection, by one step, no matter how many clients are in
// handshakes.
//
// The loop ends in two stages: drain() accepts no further connections and closes idle ones; stop()
// closes all. Call start(), drain() and stop() from one thread. The other functions are
// thread-safe.
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
  std::size_t max_open =
      0;                    // limit of open connections, including those that request threads serve
  std::size_t backlog = 0;  // limit of connections that are accepted after the drain has begun
  TimerDurations timers;
};

class ConnectionLoop {
 public:
  using ConnectionPtr = std::unique_ptr<Connection>;
  /// Callbacks, which the loop's thread calls. They must not block or throw.
  struct Hooks {
    /// Creates the connection for the accepted socket `fd`. Null: the creation failed, and `fd` is
    /// closed.
    std::function<ConnectionPtr(int fd)> open_connection;
    /// Takes over a connection that has received the complete head of its next request.
    std::function<void(ConnectionPtr)> on_head;
    /// Answers a client whose head did not arrive in time. The loop then discards the client's
    /// input.
    std::function<void(Connection&)> on_head_timeout;
    /// Called in each turn. If it returns true, the next turn follows within kRequestedTurnMs.
    std::function<bool()> on_turn;
  };

  ConnectionLoop(ConnectionLoopOptions bounds, const base::Clock& clock, Hooks hooks);
  ~ConnectionLoop();
  ConnectionLoop(const ConnectionLoop&) = delete;
  ConnectionLoop& operator=(const ConnectionLoop&) = delete;

  /// Starts the thread and takes over `listen_fd`. False: no file descriptor or thread is
  /// available, and `listen_fd` is closed.
  [[nodiscard]] bool start(int listen_fd);
  /// Gives back a connection that Hooks::on_head took over.
  void take_back(ConnectionPtr connection, NextAction next_action);
  /// Wakes the loop's thread, which then takes a turn at once.
  void wake();

  [[nodiscard]] bool draining() const { return draining_; }
  /// Returns a file descriptor that becomes readable when drain() is called, and stays readable.
  [[nodiscard]] int drain_fd() const { return drain_fd_; }
  /// Accepts the connections that are already in the kernel's queue, but no later ones, closes idle
  /// connections, and waits up to `at_most` for the others to end. Returns whether all have ended.
  bool drain(std::chrono::milliseconds at_most);
  /// Closes every connection in the loop, and each one that take_back() gives back later.
  void stop();

 private:
  using ReturnedConnection = std::pair<ConnectionPtr, NextAction>;

  void run();
  [[nodiscard]] int wait_time(bool turn_requested) const;
  void run_turn(bool& turn_requested);
  /// Accepts one connection. False: no client waits, or no connection can be accepted at present.
  bool accept_connection();
  /// Closes the connection that ConnectionTimers chooses. False: the loop has no connection to
  /// close.
  [[nodiscard]] bool close_least_useful();
  void take_returned();
  void watch_connection(ConnectionPtr connection, Connection::Step step);
  void handle_event(int fd);
  /// Takes the next step of the first handshake in the queue.
  void step_handshake();
  void take_connection_step(int fd);
  void continue_connection(ConnectionPtr connection, Connection::Step step);
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

  // The following members are used only by the loop's thread.
  bool listening_ = true;
  ConnectionTimers timers_;
  std::unordered_map<int, ConnectionPtr> connections_;  // by file descriptor
  std::deque<int> handshakes_;  // descriptors that are ready for a handshake step

  base::Mutex mutex_;
  base::Condition all_ended_;
  std::size_t open_count_ SNUG_GUARDED_BY(mutex_) = 0;
  bool drained_ SNUG_GUARDED_BY(mutex_) = false;  // drain() has closed the listening socket
  bool stopped_ SNUG_GUARDED_BY(mutex_) = false;  // if true, take_back() closes each connection
  std::vector<ReturnedConnection> returned_connections_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
