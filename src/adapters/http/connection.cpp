#include "adapters/http/connection.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "snug/base/check.hpp"

namespace snug {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// What one read takes at most. Speed only, as is the next one: no operator's business.
constexpr std::size_t kInBuffer = 65'536;
/// Smaller writes are gathered: a reply's head leaves together with its body.
constexpr std::size_t kOutBuffer = 16'384;

/// kInBuffer bytes of this thread, for one connection at a time. kube-scheduler opens connections
/// all the time, and a buffer for each is so large that the allocator tidies up whenever one goes.
thread_local std::unique_ptr<char[]> thread_buffer;
thread_local bool buffer_is_lent = false;

char* borrow_buffer() {
  SNUG_CHECK(!buffer_is_lent);
  if (thread_buffer == nullptr) thread_buffer = std::make_unique_for_overwrite<char[]>(kInBuffer);
  buffer_is_lent = true;
  return thread_buffer.get();
}

int to_poll_time(milliseconds left) {
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, INT_MAX));
}

milliseconds until(steady_clock::time_point then) {
  return std::chrono::ceil<milliseconds>(then - steady_clock::now());
}

/// Polls again after signals.
int poll_until(pollfd* fds, nfds_t count, steady_clock::time_point then) {
  for (;;) {
    const int ready = ::poll(fds, count, to_poll_time(until(then)));
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

}  // namespace

void Connection::FreeSsl::operator()(SSL* ssl) const { SSL_free(ssl); }

Connection::Connection(int fd, SSL_CTX* tls, const Limits& limits)
    : fd_(fd),
      ssl_(tls == nullptr ? nullptr : SSL_new(tls)),
      silence_(limits.request_silence_ms),
      whole_(limits.request_ms),
      max_head_(static_cast<std::size_t>(limits.max_header_bytes)),
      in_(borrow_buffer()) {
  if (ssl_ != nullptr) SSL_set_fd(ssl_.get(), fd_);
  broken_ = tls != nullptr && ssl_ == nullptr;
}

Connection::~Connection() {
  buffer_is_lent = false;
  if (ssl_ != nullptr && !broken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
}

bool Connection::handshake() {
  deadline_ = steady_clock::now() + whole_;
  while (!broken_) {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) return true;
    if (!retry_tls(result)) broken_ = true;
  }
  return false;
}

bool Connection::wait_for_request(int wake_fd, milliseconds at_most) {
  if (in_from_ < in_to_ || (ssl_ != nullptr && SSL_pending(ssl_.get()) > 0)) return true;
  std::array<pollfd, 2> fds{{{fd_, POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  if (poll_until(fds.data(), fds.size(), steady_clock::now() + at_most) <= 0) return false;
  return fds[0].revents != 0;
}

void Connection::begin_request() {
  deadline_ = steady_clock::now() + whole_;
  head_bytes_ = 0;
  head_line_ = 0;
  first_line_ = true;
  fresh_ = false;
  in_head_ = true;
  replied_ = false;
}

bool Connection::wait(short events) {
  pollfd fd{fd_, events, 0};
  const auto then = std::min(deadline_, steady_clock::now() + silence_);
  const int ready = poll_until(&fd, 1, then);
  if (ready == 0) timed_out_ = true;
  return ready > 0;
}

bool Connection::retry_plain(short events) {
  if (errno == EINTR) return true;
  return (errno == EAGAIN || errno == EWOULDBLOCK) && wait(events);
}

bool Connection::retry_tls(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    default:
      return false;
  }
}

ssize_t Connection::receive(char* out, std::size_t size) {
  for (;;) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int got = SSL_read(ssl_.get(), out, static_cast<int>(size));
      if (got > 0) return got;
      if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
      if (!retry_tls(got)) return -1;
    } else {
      const ssize_t got = ::recv(fd_, out, size, 0);
      if (got >= 0) return got;
      if (!retry_plain(POLLIN)) return -1;
    }
  }
}

bool Connection::is_readable() const { return in_from_ < in_to_; }

ssize_t Connection::read(char* out, std::size_t size) {
  if (in_from_ == in_to_) {
    if (!flush()) return -1;
    const ssize_t got = receive(in_, kInBuffer);
    if (got <= 0) return got;
    in_from_ = 0;
    in_to_ = static_cast<std::size_t>(got);
  }
  const std::size_t count = std::min(size, in_to_ - in_from_);
  std::memcpy(out, in_ + in_from_, count);
  in_from_ += count;
  if (in_head_ && !count_head({out, count})) return -1;
  return static_cast<ssize_t>(count);
}

bool Connection::count_head(std::string_view bytes) {
  head_bytes_ += bytes.size();
  for (const char byte : bytes) {
    if (!first_line_ && ++head_line_ > kMaxHeadLine) break;
    if (byte != '\n') continue;
    first_line_ = false;
    head_line_ = 0;
  }
  head_too_large_ = head_bytes_ > max_head_ || head_line_too_long();
  return !head_too_large_;
}

ssize_t Connection::write(const char* data, std::size_t size) {
  if (broken_) return -1;
  if (!replied_) {
    replied_ = true;
    deadline_ = steady_clock::now() + whole_;
  }
  if (out_.size() + size <= kOutBuffer) {
    out_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  const bool sent = ssl_ == nullptr ? send_plain(data, size) : send_tls(data, size);
  if (!sent) broken_ = true;
  return sent ? static_cast<ssize_t>(size) : -1;
}

bool Connection::flush() {
  if (broken_) return false;
  if (out_.empty()) return true;
  const bool sent = ssl_ == nullptr ? send_plain(nullptr, 0) : send_tls(nullptr, 0);
  if (!sent) broken_ = true;
  return sent;
}

/// What is gathered and then `data`, in as few packets as may be.
bool Connection::send_plain(const char* data, std::size_t size) {
  std::size_t from = 0;
  const std::size_t total = out_.size() + size;
  while (from < total) {
    const std::size_t head = std::min(from, out_.size());
    const std::size_t body = from - head;
    std::array<iovec, 2> parts{
        {{out_.data() + head, out_.size() - head}, {const_cast<char*>(data) + body, size - body}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (!retry_plain(POLLOUT)) return false;
      continue;
    }
    from += static_cast<std::size_t>(sent);
  }
  out_.clear();
  return true;
}

bool Connection::send_tls(const char* data, std::size_t size) {
  out_.append(data == nullptr ? "" : data, size);
  std::size_t from = 0;
  while (from < out_.size()) {
    ERR_clear_error();
    const auto part = std::min<std::size_t>(out_.size() - from, INT_MAX);
    const int sent = SSL_write(ssl_.get(), out_.data() + from, static_cast<int>(part));
    if (sent > 0) {
      from += static_cast<std::size_t>(sent);
    } else if (!retry_tls(sent)) {
      return false;
    }
  }
  out_.clear();
  return true;
}

void Connection::linger(int wake_fd) {
  if (!flush()) return;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::shutdown(fd_, SHUT_WR);
  broken_ = true;
  const auto then = steady_clock::now() + silence_;
  std::array<pollfd, 2> fds{{{fd_, POLLIN, 0}, {wake_fd, POLLIN, 0}}};
  while (poll_until(fds.data(), fds.size(), then) > 0 && fds[1].revents == 0) {
    const ssize_t got = ::recv(fd_, in_, kInBuffer, 0);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
    if (steady_clock::now() > then) return;
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace snug
