#include "adapters/kube/connection_pool.hpp"

namespace snug::kube {

ConnectionPool::ConnectionPool(const ApiEndpoint& endpoint, const Settings& settings)
    : endpoint_(endpoint), settings_(settings) {}

std::unique_ptr<ApiConnection> ConnectionPool::reuse_idle(const PemTextsPtr& tls, bool must_be_new,
                                                          Connections& to_close) {
  const CallDeadline oldest_reusable = std::chrono::steady_clock::now() - settings_.max_idle;
  while (!idle_connections_.empty()) {
    IdleConnection last_used = std::move(idle_connections_.back());
    idle_connections_.pop_back();
    if (!must_be_new && last_used.connection->tls() == tls &&
        last_used.idle_since >= oldest_reusable) {
      return std::move(last_used.connection);
    }
    to_close.push_back(std::move(last_used.connection));
    if (must_be_new) break;
  }
  return nullptr;
}

base::Result<ConnectionPool::Lease> ConnectionPool::take(const PemTextsPtr& tls,
                                                         CallDeadline deadline, bool must_be_new) {
  Connections to_close;  // destroyed, and so closed, after the mutex is released
  const base::MutexLock lock(mutex_);
  const auto can_lend = [this]() SNUG_REQUIRES(mutex_) {
    return lent_connections_.size() < settings_.size;
  };
  if (!connection_returned_.wait_until(mutex_, deadline, can_lend)) {
    return base::fail(base::ErrorCode::kUnavailable, "all connections to the API server are busy");
  }
  auto connection = reuse_idle(tls, must_be_new, to_close);
  if (connection == nullptr) {
    const SocketTimes socket_times{.connect = settings_.timeout, .silence = settings_.timeout};
    auto new_connection = ApiConnection::make(endpoint_, tls, socket_times);
    if (!new_connection)
      return base::fail(base::ErrorCode::kUnavailable, new_connection.error().message);
    connection = *std::move(new_connection);
  }
  if (aborting_) connection->abort();
  lent_connections_.push_back(connection.get());
  return Lease(*this, std::move(connection));
}

void ConnectionPool::give_back(std::unique_ptr<ApiConnection> connection, bool spoiled) {
  const base::MutexLock lock(mutex_);
  std::erase(lent_connections_, connection.get());
  if (!spoiled && !aborting_) {
    idle_connections_.push_back(
        IdleConnection{std::move(connection), std::chrono::steady_clock::now()});
  }
  connection_returned_.notify_one();
}

void ConnectionPool::abort_all() {
  const base::MutexLock lock(mutex_);
  aborting_ = true;
  for (ApiConnection* connection : lent_connections_) connection->abort();
}

}  // namespace snug::kube
