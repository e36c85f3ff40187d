// Serves requests whose heads have come, each with a thread of its own until its reply has left.
// Threads are started on demand up to a bound and then kept; further requests wait in the order in
// which they came. Of threads without a request, the last to have had one gets the next: what it
// worked with is still in the processor's caches.
//
// While requests wait, relieve() ends connections whose clients are slow with a body or a reply.
// Thread-safe, but for stop, which is called from one thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "adapters/http/connection.hpp"
#include "snug/base/clock.hpp"

namespace snug {

class RequestThreads {
 public:
  using Connected = std::unique_ptr<Connection>;
  /// Called by the threads. They must not throw.
  struct Hooks {
    std::function<AfterRequest(Connection&)> serve;
    /// Takes the connection back after serve().
    std::function<void(Connected, AfterRequest)> served;
  };

  RequestThreads(std::size_t threads, const char* name, Hooks hooks);
  ~RequestThreads();
  RequestThreads(const RequestThreads&) = delete;
  RequestThreads& operator=(const RequestThreads&) = delete;

  void submit(Connected connection);
  /// Whether requests wait for a thread.
  [[nodiscard]] bool crowded() const { return crowded_; }
  /// How many threads have no request.
  [[nodiscard]] std::size_t idle() const;
  /// Ends slow connections, one for each request that waits: those that wait for a thread here, and
  /// `others`, which the caller counts. Connections that are ending already count as ended. True:
  /// requests waited.
  bool relieve(TimePoint now, std::int64_t min_bytes_per_s, std::size_t others);
  /// Cuts every connection and returns when none is served any more.
  void stop();

 private:
  /// A thread without a request.
  struct Waiter {
    std::condition_variable woken;
    Connected connection;
  };

  void work();
  /// Under mutex_. Waits for the next connection; null: the threads stop.
  [[nodiscard]] Connected next(std::unique_lock<std::mutex>& lock);
  /// Under mutex_. Starts one more thread unless the bound is reached.
  void start_thread();
  /// Under mutex_. How many requests in the queue no thread is about to take.
  [[nodiscard]] std::size_t waiting() const;

  const std::size_t most_;
  const char* const name_;
  const Hooks hooks_;
  std::atomic<bool> crowded_{false};

  mutable std::mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_
  /// Started or just finished threads that will take the next request. Guarded by mutex_.
  std::size_t coming_ = 0;
  std::deque<Connected> queue_;              // guarded by mutex_
  std::unordered_set<Connection*> serving_;  // guarded by mutex_
  std::vector<Waiter*> waiters_;             // guarded by mutex_: the last one has waited the least
  std::vector<std::thread> threads_;         // guarded by mutex_
};

}  // namespace snug
