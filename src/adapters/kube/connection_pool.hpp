// The connections to the API server for calls: a bounded number, kept alive, lent to one call each
// until its deadline, when the pool itself aborts them. Thread-safe. Destroy it only when none is
// lent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/kube/connection.hpp"

namespace snug {

/// Real time: it bounds waits on sockets.
using CallDeadline = std::chrono::steady_clock::time_point;

class ConnectionPool {
  struct Loan {
    std::unique_ptr<ApiConnection> connection;
    CallDeadline next_abort;
  };

 public:
  struct Settings {
    std::size_t size = 1;
    std::chrono::milliseconds timeout{0};   // of one call
    std::chrono::milliseconds max_idle{0};  // longer unused ones are replaced
  };

  /// Goes back to the pool when it ends, unless it is spoiled.
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::list<Loan>::iterator loan, bool used_before)
        : pool_(&pool), loan_(loan), used_before_(used_before) {}
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(loan_, spoiled_);
    }
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          loan_(other.loan_),
          used_before_(other.used_before_),
          spoiled_(other.spoiled_) {}
    Lease& operator=(Lease&&) = delete;

    [[nodiscard]] ApiConnection& operator*() const { return *loan_->connection; }
    [[nodiscard]] ApiConnection* operator->() const { return loan_->connection.get(); }
    /// The other side may have closed it in the meantime.
    [[nodiscard]] bool used_before() const { return used_before_; }
    void spoil() { spoiled_ = true; }

   private:
    ConnectionPool* pool_;
    std::list<Loan>::iterator loan_;
    bool used_before_;
    bool spoiled_ = false;
  };

  ConnectionPool(const ApiEndpoint& endpoint, const Settings& settings);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Waits for a free connection until the deadline; `fresh` asks for one that is not used yet.
  [[nodiscard]] Result<Lease> take(const TlsMaterialPtr& tls, CallDeadline deadline, bool fresh);
  /// Aborts all that are lent, and those lent from now on.
  void abort_all();

 private:
  struct Idle {
    std::unique_ptr<ApiConnection> connection;
    CallDeadline since;
  };

  class Place;

  [[nodiscard]] std::unique_ptr<ApiConnection> reuse(const TlsMaterialPtr& tls, bool fresh,
                                                     Place& place);
  void give_back(std::list<Loan>::iterator loan, bool spoiled);
  void watch_deadlines();

  const ApiEndpoint endpoint_;
  const Settings settings_;

  std::mutex mutex_;
  std::condition_variable free_;
  std::condition_variable watchdog_wakes_;
  std::vector<Idle> idle_;  // the last is the one used last
  std::list<Loan> loans_;
  std::size_t open_ = 0;  // lent, being made, or idle
  CallDeadline watchdog_sleeps_until_ = CallDeadline::min();
  bool aborting_ = false;
  bool ending_ = false;
  std::thread watchdog_;
};

}  // namespace snug
