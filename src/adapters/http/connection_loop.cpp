#include "adapters/http/connection_loop.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

namespace snug::http {
namespace {

using Step = Connection::Step;

/// If file descriptors or memory have run out, the loop waits kShortageWaitMs before it accepts
/// again. If Hooks::on_turn returns true, the next turn follows within kRequestedTurnMs. Neither
/// value limits how long a client waits, so they need not be configurable.
constexpr int kShortageWaitMs = 10;
constexpr int kRequestedTurnMs = 10;
/// Maximum numbers of events and of accepted connections in one turn of the loop, so that neither
/// keeps the loop from its other work.
constexpr std::size_t kEventsPerTurn = 64;
constexpr int kAcceptsPerTurn = 64;

void watch_fd(int epoll_fd, int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  // If this fails, the connection gets no events and is closed at its deadline.
  if (::epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT) {
    ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
  }
}

void signal_event_fd(int event_fd) {
  const std::uint64_t one = 1;
  // The write succeeds, because the counter of the eventfd never gets close to its maximum.
  [[maybe_unused]] const ssize_t written = ::write(event_fd, &one, sizeof one);
}

}  // namespace

ConnectionLoop::ConnectionLoop(ConnectionLoopOptions bounds, const base::Clock& clock, Hooks hooks)
    : bounds_(bounds), clock_(clock), hooks_(std::move(hooks)), timers_(bounds.timers) {}

ConnectionLoop::~ConnectionLoop() {
  stop();
  for (const int fd : {epoll_fd_, wake_fd_, drain_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

bool ConnectionLoop::start(int listen_fd) {
  listen_fd_ = listen_fd;
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  drain_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bool started = epoll_fd_ >= 0 && wake_fd_ >= 0 && drain_fd_ >= 0;
  if (started) {
    watch_fd(epoll_fd_, listen_fd_, EPOLLIN);
    watch_fd(epoll_fd_, wake_fd_, EPOLLIN);
    if (draining_) signal_event_fd(drain_fd_);
  }
  try {
    if (started) thread_ = std::thread([this] { run(); });
    if (started) pthread_setname_np(thread_.native_handle(), "snug-accept");
  } catch (const std::system_error&) {
    started = false;
  }
  if (!started) ::close(listen_fd_);
  return started;
}

void ConnectionLoop::run() {
  std::array<epoll_event, kEventsPerTurn> events{};
  bool turn_requested = false;
  while (!stopping_) {
    const int event_count =
        ::epoll_wait(epoll_fd_, events.data(), kEventsPerTurn, wait_time(turn_requested));
    for (int i = 0; i < event_count; ++i) {
      // The listening socket is skipped here. run_turn() accepts new connections later, because the
      // other events may end connections and so make room.
      if (events[static_cast<std::size_t>(i)].data.fd != listen_fd_) {
        handle_event(events[static_cast<std::size_t>(i)].data.fd);
      }
    }
    run_turn(turn_requested);
    step_handshake();
  }
  if (listening_) ::close(listen_fd_);
  while (!connections_.empty()) close(remove(connections_.begin()->first));
}

int ConnectionLoop::wait_time(bool turn_requested) const {
  if (!handshakes_.empty()) return 0;
  const auto next = timers_.next_deadline();
  if (!next) return turn_requested ? kRequestedTurnMs : -1;
  const auto ms_left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock_.now()).count();
  return static_cast<int>(
      std::clamp<std::int64_t>(ms_left, 0, turn_requested ? kRequestedTurnMs : INT_MAX));
}

void ConnectionLoop::run_turn(bool& turn_requested) {
  take_returned();
  close_expired();
  for (int i = 0; listening_ && !draining_ && i < kAcceptsPerTurn && accept_connection(); ++i) {
  }
  if (draining_ && listening_) begin_drain();
  turn_requested = hooks_.on_turn();
}

bool ConnectionLoop::accept_connection() {
  const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (close_least_useful()) return true;
      pollfd wake{wake_fd_, POLLIN, 0};
      ::poll(&wake, 1, kShortageWaitMs);
      return false;
    }
    // These four errors mean that no connection can be accepted now. Any other error concerns a
    // single connection, which the kernel has already dropped.
    return errno != EAGAIN && errno != EWOULDBLOCK && errno != EBADF && errno != EINVAL;
  }
  const int no_delay = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
  bool too_many_open = false;
  {
    const base::MutexLock lock(mutex_);
    too_many_open = open_count_ >= bounds_.max_open;
  }
  if (too_many_open && !close_least_useful()) {
    ::close(fd);
    return true;
  }
  ConnectionPtr connection = hooks_.open_connection(fd);
  if (connection == nullptr) return true;
  {
    const base::MutexLock lock(mutex_);
    ++open_count_;
  }
  timers_.accepted(fd, clock_.now());
  watch_connection(std::move(connection), Step::kWaitRead);
  return true;
}

bool ConnectionLoop::close_least_useful() {
  while (const auto least_useful_fd = timers_.first_to_close()) {
    const bool refused = timers_.is_refused(*least_useful_fd);
    ConnectionPtr connection = remove(*least_useful_fd);
    // A connection in its TLS handshake is closed at once, because another step could be expensive.
    if (refused || !connection->handshake_done() || connection->advance() != Step::kHead) {
      close(std::move(connection));
      return true;
    }
    // The connection has just received a complete head, so its request is served, and the next
    // connection is considered instead.
    hand_to_thread(std::move(connection));
  }
  return false;
}

void ConnectionLoop::hand_to_thread(ConnectionPtr connection) {
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, connection->socket(), nullptr);
  try {
    hooks_.on_head(std::move(connection));
  } catch (const std::bad_alloc&) {
    close(nullptr);  // on_head has destroyed the connection; this only decrements open_count_
  }
}

void ConnectionLoop::take_back(ConnectionPtr connection, NextAction next_action) {
  {
    const base::MutexLock lock(mutex_);
    if (next_action != NextAction::kClose && !stopped_) {
      returned_connections_.emplace_back(std::move(connection), next_action);
    }
  }
  if (connection != nullptr) return close(std::move(connection));
  wake();
}

void ConnectionLoop::take_returned() {
  std::vector<ReturnedConnection> returned_connections;
  {
    const base::MutexLock lock(mutex_);
    returned_connections.swap(returned_connections_);
  }
  for (auto& [connection, next_action] : returned_connections) {
    const int fd = connection->socket();
    if (next_action == NextAction::kDiscardInput && !draining_) {
      timers_.refused(fd, clock_.now());
      watch_connection(std::move(connection), Step::kWaitRead);
    } else if (next_action == NextAction::kDiscardInput) {
      close(std::move(connection));
    } else {
      timers_.idle(fd, clock_.now());
      const Step step = connection->advance();
      continue_connection(std::move(connection), step);
    }
  }
}

void ConnectionLoop::watch_connection(ConnectionPtr connection, Step step) {
  const int fd = connection->socket();
  std::uint32_t events = step == Step::kWaitWrite ? EPOLLOUT : EPOLLIN;
  // During the TLS handshake, only one event is reported. It puts the connection into handshakes_,
  // and no further event is needed until the handshake step has been taken.
  if (!connection->handshake_done()) events |= EPOLLONESHOT;
  connections_.insert_or_assign(fd, std::move(connection));
  watch_fd(epoll_fd_, fd, events);
}

/// Handles an event of the file descriptor `fd`. The connection of `fd` may already have left the
/// loop.
void ConnectionLoop::handle_event(int fd) {
  if (fd == wake_fd_) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read_bytes = ::read(wake_fd_, &count, sizeof count);
    return;
  }
  const auto connection_slot = connections_.find(fd);
  if (connection_slot == connections_.end()) return;
  if (!connection_slot->second->handshake_done()) return handshakes_.push_back(fd);
  take_connection_step(fd);
}

void ConnectionLoop::step_handshake() {
  if (handshakes_.empty()) return;
  const int fd = handshakes_.front();
  handshakes_.pop_front();
  // The connection may have been closed, and a new connection may have the same file descriptor. An
  // extra step does not harm the new one.
  if (connections_.contains(fd)) take_connection_step(fd);
}

void ConnectionLoop::take_connection_step(int fd) {
  const auto connection_slot = connections_.find(fd);
  ConnectionPtr connection = std::move(connection_slot->second);
  connections_.erase(connection_slot);
  if (!timers_.is_refused(fd)) {
    const Step step = connection->advance();
    return continue_connection(std::move(connection), step);
  }
  const Step step = connection->discard_input();
  if (step != Step::kEnd) return watch_connection(std::move(connection), step);
  timers_.remove(fd);
  close(std::move(connection));
}

void ConnectionLoop::continue_connection(ConnectionPtr connection, Step step) {
  const int fd = connection->socket();
  const bool connection_ends = step == Step::kEnd || (draining_ && !connection->has_started());
  if (step != Step::kHead && !connection_ends) {
    if (connection->has_started()) timers_.head_started(fd, clock_.now());
    return watch_connection(std::move(connection), step);
  }
  timers_.remove(fd);
  if (step == Step::kHead) return hand_to_thread(std::move(connection));
  close(std::move(connection));
}

void ConnectionLoop::close_expired() {
  for (const int fd : timers_.expired(clock_.now())) {
    ConnectionPtr& connection = connections_.at(fd);
    if (timers_.is_refused(fd) || !connection->is_reading_head()) {
      close(remove(fd));
      continue;
    }
    hooks_.on_head_timeout(*connection);
    timers_.refused(fd, clock_.now());
    watch_fd(epoll_fd_, fd, EPOLLIN);
  }
}

/// Accepts the connections that are already in the kernel's queue, because their clients may have
/// sent requests; at most `backlog` of them, because clients may keep connecting. Then closes the
/// listening socket, and idle and refused connections.
void ConnectionLoop::begin_drain() {
  for (std::size_t accepts_left = bounds_.backlog; accepts_left > 0 && accept_connection();
       --accepts_left) {
  }
  listening_ = false;
  ::close(listen_fd_);
  std::vector<int> open_fds;
  open_fds.reserve(connections_.size());
  for (const auto& [fd, connection] : connections_) open_fds.push_back(fd);
  for (const int fd : open_fds) {
    if (timers_.is_refused(fd)) {
      close(remove(fd));
    } else {
      handle_event(fd);
    }
  }
  const base::MutexLock lock(mutex_);
  drained_ = true;
  if (open_count_ == 0) all_ended_.notify_all();
}

ConnectionLoop::ConnectionPtr ConnectionLoop::remove(int fd) {
  const auto connection_slot = connections_.find(fd);
  ConnectionPtr connection = std::move(connection_slot->second);
  connections_.erase(connection_slot);
  timers_.remove(fd);
  return connection;
}

void ConnectionLoop::close(ConnectionPtr connection) {
  connection.reset();
  const base::MutexLock lock(mutex_);
  if (--open_count_ == 0) all_ended_.notify_all();
}

void ConnectionLoop::wake() {
  if (wake_fd_ >= 0) signal_event_fd(wake_fd_);
}

bool ConnectionLoop::drain(std::chrono::milliseconds at_most) {
  if (!draining_.exchange(true) && drain_fd_ >= 0) signal_event_fd(drain_fd_);
  wake();
  const base::MutexLock lock(mutex_);
  if (!thread_.joinable())
    return open_count_ == 0;  // the loop was never started, so it will not set drained_
  return all_ended_.wait_for(
      mutex_, at_most, [this]() SNUG_REQUIRES(mutex_) { return drained_ && open_count_ == 0; });
}

void ConnectionLoop::stop() {
  stopping_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  std::vector<ReturnedConnection> returned_connections;
  {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
    returned_connections.swap(returned_connections_);
  }
  for (auto& [connection, next_action] : returned_connections) close(std::move(connection));
}

}  // namespace snug::http
