#include "adapters/http/request_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "adapters/http/slow_transfers.hpp"

namespace snug {

RequestThreads::RequestThreads(std::size_t threads, const char* name, Hooks hooks)
    : most_(threads), name_(name), hooks_(std::move(hooks)) {
  // So that no push_back fails in a thread that has no request: nobody would catch it.
  waiters_.reserve(threads);
}

RequestThreads::~RequestThreads() { stop(); }

void RequestThreads::submit(Connected connection) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  if (!waiters_.empty()) {
    Waiter& last = *waiters_.back();
    waiters_.pop_back();
    last.connection = std::move(connection);
    last.woken.notify_one();
    return;
  }
  queue_.push_back(std::move(connection));
  start_thread();
  crowded_ = waiting() > 0;
}

std::size_t RequestThreads::waiting() const {
  return queue_.size() - std::min(queue_.size(), coming_);
}

void RequestThreads::start_thread() {
  if (threads_.size() >= most_) return;
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    return;  // relieve() tries again while requests wait
  }
  pthread_setname_np(threads_.back().native_handle(), name_);
  ++coming_;
}

void RequestThreads::work() {
  MutexLock lock(mutex_);
  while (Connected connection = next()) {
    serving_.insert(connection.get());
    lock.unlock();
    const AfterRequest after = hooks_.serve(*connection);
    lock.lock();
    // From here on relieve() and stop() no longer see it.
    serving_.erase(connection.get());
    ++coming_;
    lock.unlock();
    hooks_.served(std::move(connection), after);
    lock.lock();
  }
}

std::size_t RequestThreads::idle() const {
  const MutexLock lock(mutex_);
  return waiters_.size();
}

RequestThreads::Connected RequestThreads::next() {
  --coming_;
  if (stopping_) return nullptr;
  if (!queue_.empty()) {
    Connected first = std::move(queue_.front());
    queue_.pop_front();
    crowded_ = waiting() > 0;
    return first;
  }
  Waiter self;
  waiters_.push_back(&self);
  self.woken.wait(mutex_,
                  [&]() SNUG_REQUIRES(mutex_) { return stopping_ || self.connection != nullptr; });
  return stopping_ ? nullptr : std::move(self.connection);
}

bool RequestThreads::relieve(TimePoint now, std::int64_t min_bytes_per_s, std::size_t others) {
  const MutexLock lock(mutex_);
  if (waiting() > 0) start_thread();
  const std::size_t wanted = waiting() + others;
  if (wanted == 0) return false;
  std::vector<Connection*> served;
  std::vector<Transfer> transfers;
  std::size_t ending = 0;
  for (Connection* const connection : serving_) {
    if (connection->is_cut()) {
      ++ending;
      continue;
    }
    served.push_back(connection);
    transfers.push_back(connection->transfer());
  }
  const std::size_t most = wanted - std::min(wanted, ending);
  for (const std::size_t i : pick_slow(transfers, now, min_bytes_per_s, most)) served[i]->cut();
  return true;
}

void RequestThreads::stop() {
  std::vector<std::thread> threads;
  std::deque<Connected> unserved;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (Connection* const connection : serving_) connection->cut();
    threads.swap(threads_);
    unserved.swap(queue_);
    for (Waiter* const waiter : waiters_) waiter->woken.notify_one();
    waiters_.clear();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace snug
