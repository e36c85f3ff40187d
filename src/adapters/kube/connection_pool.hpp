// A bounded pool of connections to the API server, which are kept alive between calls. Each
// connection is lent to one call at a time. Every ConnectionPool::Lease (a lent connection, not a
// Kubernetes Lease) must be destroyed before the pool. Thread-safe.
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
    std::chrono::milliseconds timeout{0};   // the longest time to connect, and the longest silence
    std::chrono::milliseconds max_idle{0};  // a connection that was idle for longer is not reused
  };

  /// A connection that is lent to one call. The destructor returns the connection to the pool;
  /// after spoil() the pool closes it.
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

  /// Lends a connection that uses `tls`; if `must_be_new`, the connection is new. If all
  /// connections are lent, waits until one is returned. Fails with kUnavailable if none is returned
  /// by `deadline`.
  [[nodiscard]] base::Result<Lease> take(const PemTextsPtr& tls, CallDeadline deadline,
                                         bool must_be_new) SNUG_EXCLUDES(mutex_);
  /// Aborts the calls on all lent connections and on every connection that is lent later.
  void abort_all() SNUG_EXCLUDES(mutex_);

 private:
  using Connections = std::vector<std::unique_ptr<ApiConnection>>;
  struct IdleConnection {
    std::unique_ptr<ApiConnection> connection;
    CallDeadline idle_since;
  };

  /// Returns an idle connection that uses `tls`, or null if there is none. Moves idle connections
  /// that are too old or use other PEM texts to `to_close`. If `must_be_new`, instead returns null
  /// and moves at most one idle connection to `to_close`, to make room for a new one.
  [[nodiscard]] std::unique_ptr<ApiConnection> reuse_idle(const PemTextsPtr& tls, bool must_be_new,
                                                          Connections& to_close)
      SNUG_REQUIRES(mutex_);
  void give_back(std::unique_ptr<ApiConnection> connection, bool spoiled) SNUG_EXCLUDES(mutex_);

  const ApiEndpoint endpoint_;
  const Settings settings_;

  base::Mutex mutex_;
  base::Condition connection_returned_;
  /// The most recently used connection is last.
  std::vector<IdleConnection> idle_connections_ SNUG_GUARDED_BY(mutex_);
  std::vector<ApiConnection*> lent_connections_ SNUG_GUARDED_BY(mutex_);
  bool aborting_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::kube
