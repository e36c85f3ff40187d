#include "adapters/http/request_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "adapters/http/slow_transfers.hpp"

namespace snug::http {

RequestThreads::RequestThreads(std::size_t threads, const char* thread_name, Hooks hooks)
    : max_threads_(threads), thread_name_(thread_name), hooks_(std::move(hooks)) {
  // Reserves memory, because a failed push_back in next_connection() would end the process.
  idle_threads_.reserve(threads);
}

RequestThreads::~RequestThreads() { stop(); }

void RequestThreads::submit(ConnectionPtr connection) {
  const base::MutexLock lock(mutex_);
  if (stopping_) return;
  if (!idle_threads_.empty()) {
    IdleThread& idle_thread = *idle_threads_.back();
    idle_threads_.pop_back();
    idle_thread.connection = std::move(connection);
    idle_thread.woken.notify_one();
    return;
  }
  request_queue_.push_back(std::move(connection));
  start_thread();
  has_queue_ = queued_without_thread() > 0;
}

std::size_t RequestThreads::queued_without_thread() const {
  return request_queue_.size() - std::min(request_queue_.size(), threads_about_to_dequeue_);
}

void RequestThreads::start_thread() {
  if (threads_.size() >= max_threads_) return;
  try {
    threads_.emplace_back([this] { run_thread(); });
  } catch (const std::system_error&) {
    return;  // abort_slow() calls start_thread() again while requests wait
  }
  pthread_setname_np(threads_.back().native_handle(), thread_name_);
  ++threads_about_to_dequeue_;
}

void RequestThreads::run_thread() {
  base::MutexLock lock(mutex_);
  while (ConnectionPtr connection = next_connection()) {
    served_connections_.insert(connection.get());
    lock.unlock();
    const NextAction next_action = hooks_.serve(*connection);
    lock.lock();
    // From here on, abort_slow() and stop() do not abort this connection.
    served_connections_.erase(connection.get());
    ++threads_about_to_dequeue_;
    lock.unlock();
    hooks_.served(std::move(connection), next_action);
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
  if (!request_queue_.empty()) {
    ConnectionPtr first = std::move(request_queue_.front());
    request_queue_.pop_front();
    has_queue_ = queued_without_thread() > 0;
    return first;
  }
  IdleThread idle_thread;
  idle_threads_.push_back(&idle_thread);
  idle_thread.woken.wait(mutex_, [&]() SNUG_REQUIRES(mutex_) {
    return stopping_ || idle_thread.connection != nullptr;
  });
  return stopping_ ? nullptr : std::move(idle_thread.connection);
}

bool RequestThreads::abort_slow(base::TimePoint now, std::int64_t min_bytes_per_s,
                                std::size_t waiting_for_memory) {
  const base::MutexLock lock(mutex_);
  if (queued_without_thread() > 0) start_thread();
  const std::size_t waiting_requests = queued_without_thread() + waiting_for_memory;
  if (waiting_requests == 0) return false;
  std::vector<Connection*> active_connections;
  std::vector<Transfer> transfers;
  std::size_t ending_connections = 0;
  for (Connection* const connection : served_connections_) {
    if (connection->is_aborted()) {
      ++ending_connections;
      continue;
    }
    active_connections.push_back(connection);
    transfers.push_back(connection->transfer());
  }
  const std::size_t max_aborts = waiting_requests - std::min(waiting_requests, ending_connections);
  for (const std::size_t i : pick_slow_transfers(transfers, now, min_bytes_per_s, max_aborts))
    active_connections[i]->abort();
  return true;
}

void RequestThreads::stop() {
  std::vector<std::thread> ending_threads;
  std::deque<ConnectionPtr> discarded_requests;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    for (Connection* const connection : served_connections_) connection->abort();
    ending_threads.swap(threads_);
    discarded_requests.swap(request_queue_);
    for (IdleThread* const idle_thread : idle_threads_) idle_thread->woken.notify_one();
    idle_threads_.clear();
  }
  for (std::thread& thread : ending_threads) thread.join();
}

}  // namespace snug::http
