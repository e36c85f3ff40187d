#include "adapters/kube/connection_pool.hpp"

#include <pthread.h>

#include <algorithm>

namespace snug {
namespace {

/// An abort may fall between the making of a socket and its connect, and then does nothing.
constexpr std::chrono::milliseconds kAbortAgain{20};

}  // namespace

ConnectionPool::ConnectionPool(const ApiEndpoint& endpoint, const Settings& settings)
    : endpoint_(endpoint), settings_(settings), watchdog_([this] { watch_deadlines(); }) {
  pthread_setname_np(watchdog_.native_handle(), "snug-end-calls");
}

ConnectionPool::~ConnectionPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    watchdog_wakes_.notify_all();
  }
  watchdog_.join();
}

/// A place among the open connections, given back after the lock unless it is kept. Connections
/// that make room for it are closed after the lock too: each says good-bye to the server.
class ConnectionPool::Place {
 public:
  explicit Place(ConnectionPool& pool) : pool_(pool) {}
  ~Place() {
    if (!taken_) return;
    const std::lock_guard lock(pool_.mutex_);
    --pool_.open_;
    pool_.free_.notify_one();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void take() { taken_ = true; }
  void keep() { taken_ = false; }
  std::vector<std::unique_ptr<ApiConnection>> ended;

 private:
  ConnectionPool& pool_;
  bool taken_ = false;
};

std::unique_ptr<ApiConnection> ConnectionPool::reuse(const TlsMaterialPtr& tls, bool fresh,
                                                     Place& place) {
  const CallDeadline oldest = std::chrono::steady_clock::now() - settings_.max_idle;
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (!fresh && last.connection->tls() == tls && last.since >= oldest) {
      return std::move(last.connection);
    }
    place.ended.push_back(std::move(last.connection));
    --open_;
    if (fresh) break;
  }
  return nullptr;
}

Result<ConnectionPool::Lease> ConnectionPool::take(const TlsMaterialPtr& tls, CallDeadline deadline,
                                                   bool fresh) {
  Place place(*this);
  std::unique_lock lock(mutex_);
  const auto is_free = [this] { return !idle_.empty() || open_ < settings_.size; };
  if (!free_.wait_until(lock, deadline, is_free)) {
    return fail(ErrorCode::kUnavailable, "all connections to the API server are busy");
  }
  auto connection = reuse(tls, fresh, place);
  const bool used_before = connection != nullptr;
  if (!used_before) ++open_;
  place.take();
  if (!used_before) {
    lock.unlock();
    auto made =
        ApiConnection::make(endpoint_, tls, SocketTimes{settings_.timeout, settings_.timeout});
    if (!made) return fail(ErrorCode::kUnavailable, made.error().message);
    lock.lock();
    connection = *std::move(made);
  }
  if (aborting_) connection->abort();
  const auto loan = loans_.insert(loans_.end(), Loan{std::move(connection), deadline});
  place.keep();
  if (deadline < watchdog_sleeps_until_) watchdog_wakes_.notify_one();
  return Lease(*this, loan, used_before);
}

void ConnectionPool::give_back(std::list<Loan>::iterator loan, bool spoiled) {
  std::unique_ptr<ApiConnection> ended;  // closed after the lock
  const std::lock_guard lock(mutex_);
  if (spoiled || loan->connection->aborted()) {
    ended = std::move(loan->connection);
    --open_;
  } else {
    idle_.push_back(Idle{std::move(loan->connection), std::chrono::steady_clock::now()});
  }
  loans_.erase(loan);
  free_.notify_one();
}

void ConnectionPool::abort_all() {
  const std::lock_guard lock(mutex_);
  aborting_ = true;
  for (Loan& loan : loans_) {
    loan.connection->abort();
    loan.next_abort = std::chrono::steady_clock::now() + kAbortAgain;
  }
  watchdog_wakes_.notify_all();
}

void ConnectionPool::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const CallDeadline now = std::chrono::steady_clock::now();
    CallDeadline next = CallDeadline::max();
    for (Loan& loan : loans_) {
      if (loan.next_abort <= now) {
        loan.connection->abort();
        loan.next_abort = now + kAbortAgain;
      }
      next = std::min(next, loan.next_abort);
    }
    watchdog_sleeps_until_ = next;
    if (next == CallDeadline::max()) {
      watchdog_wakes_.wait(lock);
    } else {
      watchdog_wakes_.wait_until(lock, next);
    }
    watchdog_sleeps_until_ = CallDeadline::min();
  }
}

}  // namespace snug
