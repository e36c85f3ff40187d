#include "adapters/http/connection_threads.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace snug {
namespace {

/// Out of descriptors or memory: how long the acceptor leaves the kernel alone. Bounds nobody's
/// wait but its own.
constexpr int kShortageWaitMs = 10;

}  // namespace

ConnectionThreads::ConnectionThreads(PoolBounds bounds, std::function<void(int)> serve)
    : bounds_(bounds), serve_(std::move(serve)) {}

ConnectionThreads::~ConnectionThreads() {
  stop();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

bool ConnectionThreads::start(int listen_fd) {
  listen_fd_ = listen_fd;
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool started = wake_fd_ >= 0;
  try {
    // A thread that goes to wait has nobody to tell of a failure.
    waiters_.reserve(bounds_.threads);
    if (started) acceptor_ = std::thread([this] { accept_until_drained(); });
    if (started) pthread_setname_np(acceptor_.native_handle(), "snug-accept");
  } catch (const std::exception&) {
    started = false;
  }
  if (!started) ::close(listen_fd_);
  return started;
}

void ConnectionThreads::accept_until_drained() {
  std::array<pollfd, 2> fds{{{listen_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}}};
  while (!draining_) {
    if (::poll(fds.data(), fds.size(), -1) <= 0) continue;
    while (!draining_ && accept_one()) {
    }
  }
  // Who is connected already may have sent a request. Who comes from now on could go on for ever.
  for (std::size_t left = bounds_.backlog; left > 0 && accept_one(); --left) {
  }
  ::close(listen_fd_);
}

bool ConnectionThreads::accept_one() {
  const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    take(fd);
    return true;
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    pollfd wake{wake_fd_, POLLIN, 0};
    ::poll(&wake, 1, kShortageWaitMs);
    return false;
  }
  // Any other error is the lost connection's own, or says that none is waiting.
  return errno != EAGAIN && errno != EWOULDBLOCK && errno != EBADF && errno != EINVAL;
}

void ConnectionThreads::take(int fd) {
  const std::lock_guard lock(mutex_);
  open_.insert(fd);
  if (stopping_ || !hand_over(fd)) {
    open_.erase(fd);
    ::close(fd);
    return;
  }
  count_waiting();
  make_room();
}

bool ConnectionThreads::hand_over(int fd) {
  if (!waiters_.empty()) {
    Waiter& last = *waiters_.back();
    waiters_.pop_back();
    last.fd = fd;
    last.woken.notify_one();
    return true;
  }
  if (threads_.size() < bounds_.threads) {
    try {
      threads_.emplace_back([this, fd] { work(fd); });
      pthread_setname_np(threads_.back().native_handle(), bounds_.thread_name);
      return true;
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;  // nobody would ever take it
    }
  }
  if (queue_.size() >= bounds_.queued) return false;
  queue_.push_back(fd);
  return true;
}

/// As many idle connections go as others wait for a thread, less those that are going already. Only
/// the reading side is shut: a request that came in this very moment is still read and answered.
void ConnectionThreads::make_room() {
  while (leaving_.size() < waiting_ && !idle_.empty()) {
    const auto oldest = idle_.begin();
    ::shutdown(oldest->second, SHUT_RD);
    leaving_.insert(oldest->second);
    idle_.erase(oldest);
  }
}

std::uint64_t ConnectionThreads::begin_idle(int fd) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t turn = ++turns_;
  if (!leaving_.contains(fd)) idle_.emplace(turn, fd);
  make_room();
  return turn;
}

void ConnectionThreads::end_idle(std::uint64_t turn) {
  const std::lock_guard lock(mutex_);
  idle_.erase(turn);
}

void ConnectionThreads::work(int fd) {
  while (fd >= 0) {
    serve_(fd);
    std::unique_lock lock(mutex_);
    // Closed under the lock, so that stop() never shuts down a descriptor of somebody else.
    open_.erase(fd);
    leaving_.erase(fd);
    count_waiting();
    ::close(fd);
    if (open_.empty()) all_ended_.notify_all();
    fd = next(lock);
  }
}

int ConnectionThreads::next(std::unique_lock<std::mutex>& lock) {
  if (!queue_.empty()) {
    const int fd = queue_.front();
    queue_.pop_front();
    return fd;
  }
  if (stopping_) return -1;
  Waiter self;
  waiters_.push_back(&self);
  self.woken.wait(lock, [&] { return stopping_ || self.fd >= 0; });
  return self.fd;
}

void ConnectionThreads::count_waiting() {
  waiting_ = open_.size() > threads_.size() ? open_.size() - threads_.size() : 0;
}

void ConnectionThreads::begin_drain() {
  const bool begins = !draining_.exchange(true);
  if (begins && wake_fd_ >= 0) {
    const std::uint64_t one = 1;
    // The counter starts at zero, so that this write always succeeds.
    [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
  }
  if (acceptor_.joinable()) acceptor_.join();
}

bool ConnectionThreads::drain(std::chrono::milliseconds at_most) {
  begin_drain();
  std::unique_lock lock(mutex_);
  return all_ended_.wait_for(lock, at_most, [this] { return open_.empty(); });
}

void ConnectionThreads::stop() {
  begin_drain();
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    threads.swap(threads_);
    for (Waiter* const waiter : waiters_) waiter->woken.notify_one();
    waiters_.clear();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace snug
