#include "adapters/kube/connection_pool.hpp"

namespace snug::kube {

ConnectionPool::ConnectionPool(const ApiEndpoint& endpoint, const Settings& settings)
    : endpoint_(endpoint), settings_(settings) {}

std::unique_ptr<ApiConnection> ConnectionPool::reuse(const PemTextsPtr& tls, bool fresh,
                                                     Connections& ended) {
  const CallDeadline oldest = std::chrono::steady_clock::now() - settings_.max_idle;
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (!fresh && last.connection->tls() == tls && last.since >= oldest) {
      return std::move(last.connection);
    }
    ended.push_back(std::move(last.connection));
    if (fresh) break;
  }
  return nullptr;
}

base::Result<ConnectionPool::Lease> ConnectionPool::take(const PemTextsPtr& tls,
                                                         CallDeadline deadline, bool fresh) {
  Connections ended;  // destroyed, and so closed, after the mutex is released
  const base::MutexLock lock(mutex_);
  const auto is_free = [this]() SNUG_REQUIRES(mutex_) { return lent_.size() < settings_.size; };
  if (!free_.wait_until(mutex_, deadline, is_free)) {
    return base::fail(base::ErrorCode::kUnavailable, "all connections to the API server are busy");
  }
  auto connection = reuse(tls, fresh, ended);
  if (connection == nullptr) {
    const SocketTimes times{.connect = settings_.timeout, .silence = settings_.timeout};
    auto made = ApiConnection::make(endpoint_, tls, times);
    if (!made) return base::fail(base::ErrorCode::kUnavailable, made.error().message);
    connection = *std::move(made);
  }
  if (aborting_) connection->abort();
  lent_.push_back(connection.get());
  return Lease(*this, std::move(connection));
}

void ConnectionPool::give_back(std::unique_ptr<ApiConnection> connection, bool spoiled) {
  const base::MutexLock lock(mutex_);
  std::erase(lent_, connection.get());
  if (!spoiled && !aborting_) {
    idle_.push_back(Idle{std::move(connection), std::chrono::steady_clock::now()});
  }
  free_.notify_one();
}

void ConnectionPool::abort_all() {
  const base::MutexLock lock(mutex_);
  aborting_ = true;
  for (ApiConnection* connection : lent_) connection->abort();
}

}  // namespace snug::kube
