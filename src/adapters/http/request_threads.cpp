#include "adapters/http/request_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "adapters/http/slow_transfers.hpp"

namespace snug::http {

RequestThreads::RequestThreads(std::size_t threads, const char* name, Hooks hooks)
    : max_threads_(threads), name_(name), hooks_(std::move(hooks)) {
  // Reserves memory, because a failed push_back in next_connection() would end the process.
  idle_threads_.reserve(threads);
}

RequestThreads::~RequestThreads() { stop(); }

void RequestThreads::submit(ConnectionPtr connection) {
  const base::MutexLock lock(mutex_);
  if (stopping_) return;
  if (!idle_threads_.empty()) {
    IdleThread& last = *idle_threads_.back();
    idle_threads_.pop_back();
    last.connection = std::move(connection);
    last.woken.notify_one();
    return;
  }
  queue_.push_back(std::move(connection));
  start_thread();
  has_queue_ = queued_without_thread() > 0;
}

std::size_t RequestThreads::queued_without_thread() const {
  return queue_.size() - std::min(queue_.size(), threads_about_to_dequeue_);
}

void RequestThreads::start_thread() {
  if (threads_.size() >= max_threads_) return;
  try {
    threads_.emplace_back([this] { run_thread(); });
  } catch (const std::system_error&) {
    return;  // abort_slow() calls start_thread() again while requests wait
  }
  pthread_setname_np(threads_.back().native_handle(), name_);
  ++threads_about_to_dequeue_;
}

void RequestThreads::run_thread() {
  base::MutexLock lock(mutex_);
  while (ConnectionPtr connection = next_connection()) {
    serving_.insert(connection.get());
    lock.unlock();
    const NextAction after = hooks_.serve(*connection);
    lock.lock();
    // From here on, abort_slow() and stop() do not abort this connection.
    serving_.erase(connection.get());
    ++threads_about_to_dequeue_;
    lock.unlock();
    hooks_.served(std::move(connection), after);
    lock.lock();
  }
}

std::size_t RequestThreads::idle_count() const {
  const base::MutexLock lock(mutex_);
  return idle_threads_.size();
}

RequestThreads::ConnectionPtr RequestThreads::next_connection() {
  --threads_about_to_dequeue_;
  if (stopping_) return nullptr;
  if (!queue_.empty()) {
    ConnectionPtr first = std::move(queue_.front());
    queue_.pop_front();
    has_queue_ = queued_without_thread() > 0;
    return first;
  }
  IdleThread self;
  idle_threads_.push_back(&self);
  self.woken.wait(mutex_,
                  [&]() SNUG_REQUIRES(mutex_) { return stopping_ || self.connection != nullptr; });
  return stopping_ ? nullptr : std::move(self.connection);
}

bool RequestThreads::abort_slow(base::TimePoint now, std::int64_t min_bytes_per_s,
                                std::size_t others) {
  const base::MutexLock lock(mutex_);
  if (queued_without_thread() > 0) start_thread();
  const std::size_t wanted = queued_without_thread() + others;
  if (wanted == 0) return false;
  std::vector<Connection*> served;
  std::vector<Transfer> transfers;
  std::size_t ending = 0;
  for (Connection* const connection : serving_) {
    if (connection->is_aborted()) {
      ++ending;
      continue;
    }
    served.push_back(connection);
    transfers.push_back(connection->transfer());
  }
  const std::size_t most = wanted - std::min(wanted, ending);
  for (const std::size_t i : pick_slow_transfers(transfers, now, min_bytes_per_s, most))
    served[i]->abort();
  return true;
}

void RequestThreads::stop() {
  std::vector<std::thread> threads;
  std::deque<ConnectionPtr> unserved;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    for (Connection* const connection : serving_) connection->abort();
    threads.swap(threads_);
    unserved.swap(queue_);
    for (IdleThread* const waiter : idle_threads_) waiter->woken.notify_one();
    idle_threads_.clear();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace snug::http
