// The connections to the API server for calls: a bounded number, kept alive, lent to one call each.
// Thread-safe. Destroy it only when none is lent.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "adapters/kube/connection.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

class ConnectionPool {
 public:
  struct Settings {
    std::size_t size = 1;
    std::chrono::milliseconds timeout{0};   // of one call
    std::chrono::milliseconds max_idle{0};  // a connection that was unused for longer is closed
  };

  /// Returns the connection when it ends, unless it is spoiled.
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::unique_ptr<ApiConnection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    ~Lease() {
      if (connection_ != nullptr) pool_->give_back(std::move(connection_), spoiled_);
    }
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;

    [[nodiscard]] ApiConnection* operator->() const { return connection_.get(); }
    void spoil() { spoiled_ = true; }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<ApiConnection> connection_;
    bool spoiled_ = false;
  };

  ConnectionPool(const ApiEndpoint& endpoint, const Settings& settings);
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// Waits for a free connection until the deadline. `fresh` asks for one that was not used yet.
  [[nodiscard]] base::Result<Lease> take(const PemTextsPtr& tls, CallDeadline deadline, bool fresh)
      SNUG_EXCLUDES(mutex_);
  /// Aborts the calls on all connections in use, and on every connection taken from now on.
  void abort_all() SNUG_EXCLUDES(mutex_);

 private:
  using Connections = std::vector<std::unique_ptr<ApiConnection>>;
  struct Idle {
    std::unique_ptr<ApiConnection> connection;
    CallDeadline since;
  };

  /// Null: there is none. Moves those that cannot be used to `ended`.
  [[nodiscard]] std::unique_ptr<ApiConnection> reuse(const PemTextsPtr& tls, bool fresh,
                                                     Connections& ended) SNUG_REQUIRES(mutex_);
  void give_back(std::unique_ptr<ApiConnection> connection, bool spoiled) SNUG_EXCLUDES(mutex_);

  const ApiEndpoint endpoint_;
  const Settings settings_;

  base::Mutex mutex_;
  base::Condition free_;
  std::vector<Idle> idle_ SNUG_GUARDED_BY(mutex_);  // the last one was used last
  std::vector<ApiConnection*> lent_ SNUG_GUARDED_BY(mutex_);
  bool aborting_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::kube
