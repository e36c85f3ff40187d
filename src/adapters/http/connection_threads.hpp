// Accepts connections and gives each a thread of its own while it is open. Threads are started on
// demand up to a bound and then kept; further connections wait in a bounded queue, and beyond it
// they are closed at once. For each that waits, the connection that is idle the longest is ended,
// so that nobody keeps others out by holding connections. Of threads without one, the last to have
// had one gets the next: what it worked with is still in the processor's caches. Ends in two steps:
// drain (no new connections, idle ones go) and stop.
//
// start, drain and stop are called from one thread; the rest is thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

namespace snug {

struct PoolBounds {
  std::size_t threads = 0;
  std::size_t queued = 0;
  std::size_t backlog = 0;  // accepted at most after the drain has begun
  const char* thread_name = "snug-http";
};

class ConnectionThreads {
 public:
  /// `serve` must not throw. It gets a non-blocking socket, which the pool closes afterwards.
  ConnectionThreads(PoolBounds bounds, std::function<void(int fd)> serve);
  ~ConnectionThreads();
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  /// False: there are no descriptors or threads to be had. `listen_fd` is the pool's from here on.
  [[nodiscard]] bool start(int listen_fd);
  /// Becomes readable, and stays so, when the pool drains.
  [[nodiscard]] int wake_fd() const { return wake_fd_; }
  [[nodiscard]] bool draining() const { return draining_; }
  /// Connections wait for a thread: those that are served should end with their next reply.
  [[nodiscard]] bool crowded() const { return waiting_ > 0; }

  /// While this lives the connection waits for a request, and may be ended for another: reading
  /// then gives what has come already, and after it the end.
  class Idle {
   public:
    Idle(ConnectionThreads& pool, int fd) : pool_(pool), turn_(pool.begin_idle(fd)) {}
    ~Idle() { pool_.end_idle(turn_); }
    Idle(const Idle&) = delete;
    Idle& operator=(const Idle&) = delete;

   private:
    ConnectionThreads& pool_;
    std::uint64_t turn_;
  };

  /// True: every connection has ended.
  bool drain(std::chrono::milliseconds at_most);
  void stop();

 private:
  void accept_until_drained();
  /// False: none waits, or nothing can be accepted now.
  bool accept_one();
  void take(int fd);
  [[nodiscard]] bool hand_over(int fd);  // under mutex_
  void work(int fd);
  /// Under mutex_. The next connection; -1: the pool stops.
  [[nodiscard]] int next(std::unique_lock<std::mutex>& lock);
  void count_waiting();  // under mutex_
  void make_room();      // under mutex_
  [[nodiscard]] std::uint64_t begin_idle(int fd);
  void end_idle(std::uint64_t turn);
  void begin_drain();

  /// A thread without a connection.
  struct Waiter {
    std::condition_variable woken;
    int fd = -1;
  };

  const PoolBounds bounds_;
  const std::function<void(int)> serve_;
  int listen_fd_ = -1;
  int wake_fd_ = -1;
  std::atomic<bool> draining_{false};
  std::atomic<std::size_t> waiting_{0};  // connections beyond the threads there are
  std::thread acceptor_;

  std::mutex mutex_;
  std::condition_variable all_ended_;
  bool stopping_ = false;              // guarded by mutex_
  std::deque<int> queue_;              // guarded by mutex_
  std::unordered_set<int> open_;       // guarded by mutex_: queued and served
  std::unordered_set<int> leaving_;    // guarded by mutex_: ended for another, and not closed yet
  std::map<std::uint64_t, int> idle_;  // guarded by mutex_: by turn, so the oldest comes first
  std::uint64_t turns_ = 0;            // guarded by mutex_
  std::vector<Waiter*> waiters_;       // guarded by mutex_: the last one has waited the least
  std::vector<std::thread> threads_;   // guarded by mutex_
};

}  // namespace snug
