// A pool of threads for requests whose heads are complete. Each request has its own thread until
// its reply has been sent. Threads are started on demand, up to a limit, and then kept; further
// requests are queued in the order of arrival. The most recently used idle thread serves the next
// request, because its data may still be in the processor's caches.
//
// If requests wait, abort_slow() aborts connections whose clients send a body, or receive a reply,
// slowly. Thread-safe, except that stop() must be called from one thread.
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
  /// Callbacks, which the pool's threads call. They must not throw.
  struct Hooks {
    /// Serves the request of the connection.
    std::function<NextAction(Connection&)> serve;
    /// Takes over the connection after serve(), with the result of serve().
    std::function<void(ConnectionPtr, NextAction)> served;
  };

  RequestThreads(std::size_t threads, const char* thread_name, Hooks hooks);
  ~RequestThreads();
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  /// Passes the connection to an idle thread, or queues it.
  void submit(ConnectionPtr connection);
  /// Returns whether queued requests wait for a thread.
  [[nodiscard]] bool has_queue() const { return has_queue_; }
  /// Returns the number of threads without a request.
  [[nodiscard]] std::size_t idle_count() const;
  /// Aborts slow connections: at most one for each request that waits for a thread or for memory,
  /// minus those that were aborted earlier and have not ended yet. `waiting_for_memory` is the
  /// number of requests that wait for memory. Returns whether any request waits.
  bool abort_slow(base::TimePoint now, std::int64_t min_bytes_per_s,
                  std::size_t waiting_for_memory);
  /// Aborts every connection, discards queued ones, and waits until no request is being served.
  void stop();

 private:
  /// A thread that waits for its next request.
  struct IdleThread {
    base::Condition woken;
    ConnectionPtr connection;
  };

  void run_thread();
  /// Waits for the next connection to serve. Null: the thread must end.
  [[nodiscard]] ConnectionPtr next_connection() SNUG_REQUIRES(mutex_);
  /// Starts one more thread, unless max_threads_ are running.
  void start_thread() SNUG_REQUIRES(mutex_);
  /// Returns the number of queued requests that no thread is about to take.
  [[nodiscard]] std::size_t queued_without_thread() const SNUG_REQUIRES(mutex_);

  const std::size_t max_threads_;
  const char* const thread_name_;
  const Hooks hooks_;
  std::atomic<bool> has_queue_{false};

  mutable base::Mutex mutex_;
  bool stopping_ SNUG_GUARDED_BY(mutex_) = false;
  /// Number of threads that were just started or have just finished a request, and that will each
  /// take a queued request if there is one.
  std::size_t threads_about_to_dequeue_ SNUG_GUARDED_BY(mutex_) = 0;
  std::deque<ConnectionPtr> request_queue_ SNUG_GUARDED_BY(mutex_);
  std::unordered_set<Connection*> served_connections_ SNUG_GUARDED_BY(mutex_);
  /// The idle threads; the last one became idle most recently.
  std::vector<IdleThread*> idle_threads_ SNUG_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::http
