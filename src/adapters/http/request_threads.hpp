// Serves requests whose heads are complete, each on its own thread until its reply has been sent.
// Threads are started on demand up to a limit and then kept; further requests are queued in order
// of arrival. The most recently used idle thread serves the next request, since its data may be in
// the processor's caches.
//
// While requests wait, relieve() ends connections whose clients are slow with a body or a reply.
// Thread-safe, except for stop, which must be called from one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "adapters/http/connection.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"

namespace snug::http {

class RequestThreads {
 public:
  using ConnectionPtr = std::unique_ptr<Connection>;
  /// Called by the threads. They must not throw.
  struct Hooks {
    std::function<NextAction(Connection&)> serve;
    /// Takes the connection back after serve().
    std::function<void(ConnectionPtr, NextAction)> served;
  };

  RequestThreads(std::size_t threads, const char* name, Hooks hooks);
  ~RequestThreads();
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  void submit(ConnectionPtr connection);
  /// Whether requests wait for a thread.
  [[nodiscard]] bool has_queue() const { return has_queue_; }
  /// How many threads have no request.
  [[nodiscard]] std::size_t idle_count() const;
  /// Ends slow connections, one for each request that waits: those that wait for a thread here, and
  /// `others`, which the caller counts. Connections that are ending already count as ended. True:
  /// requests waited.
  bool abort_slow(base::TimePoint now, std::int64_t min_bytes_per_s, std::size_t others);
  /// Closes every connection and returns when none is being served.
  void stop();

 private:
  /// A thread without a request.
  struct IdleThread {
    base::Condition woken;
    ConnectionPtr connection;
  };

  void run_thread();
  /// Waits for the next connection; null: the threads stop.
  [[nodiscard]] ConnectionPtr next_connection() SNUG_REQUIRES(mutex_);
  /// Starts one more thread unless the bound is reached.
  void start_thread() SNUG_REQUIRES(mutex_);
  /// How many requests in the queue no thread is about to take.
  [[nodiscard]] std::size_t queued_without_thread() const SNUG_REQUIRES(mutex_);

  const std::size_t max_threads_;
  const char* const name_;
  const Hooks hooks_;
  std::atomic<bool> has_queue_{false};

  mutable base::Mutex mutex_;
  bool stopping_ SNUG_GUARDED_BY(mutex_) = false;
  /// Threads that have just started or finished a request, and will take the next one.
  std::size_t starting_ SNUG_GUARDED_BY(mutex_) = 0;
  std::deque<ConnectionPtr> queue_ SNUG_GUARDED_BY(mutex_);
  std::unordered_set<Connection*> serving_ SNUG_GUARDED_BY(mutex_);
  std::vector<IdleThread*> idle_threads_
      SNUG_GUARDED_BY(mutex_);  // the last one has waited the least
  std::vector<std::thread> threads_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
