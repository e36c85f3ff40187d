#include "adapters/kube/buffered_socket.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace snug {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A TLS record has at most so many bytes. Speed only, as is the next one: no operator's business.
constexpr std::size_t kInBytes = 16'384;
/// More than that is sent at once.
constexpr std::size_t kOutBytes = 16'384;

}  // namespace

BufferedSocket::BufferedSocket(milliseconds silence)
    : silence_(silence), in_(std::make_unique_for_overwrite<char[]>(kInBytes)) {}

void BufferedSocket::attach(int fd, SSL* ssl) {
  fd_ = fd;
  ssl_ = ssl;
  from_ = 0;
  to_ = 0;
  out_.clear();
  const int flags = ::fcntl(fd_, F_GETFL);
  broken_ = flags < 0 || ::fcntl(fd_, F_SETFL, flags | O_NONBLOCK) != 0;
}

bool BufferedSocket::begin_request() {
  sent_any_ = false;
  if (broken_ || has_rest()) return false;
  const ssize_t got = receive_now();
  // Messages of TLS itself may have come; OpenSSL has read them by now.
  return got != 0 && awaited(got, POLLIN) != 0;
}

ssize_t BufferedSocket::read(char* out, std::size_t size) {
  if (from_ == to_) {
    if (!flush()) return -1;
    const ssize_t got = receive();
    if (got <= 0) return got;
    from_ = 0;
    to_ = static_cast<std::size_t>(got);
  }
  const std::size_t count = std::min(size, to_ - from_);
  std::memcpy(out, in_.get() + from_, count);
  from_ += count;
  return static_cast<ssize_t>(count);
}

bool BufferedSocket::write(std::string_view bytes) {
  if (broken_) return false;
  out_ += bytes;
  return out_.size() <= kOutBytes || flush();
}

bool BufferedSocket::flush() {
  std::string_view left = out_;
  while (!left.empty() && !broken_) {
    const auto began = steady_clock::now();
    ssize_t sent = send_some(left);
    while (sent <= 0 && wait_after(sent, POLLOUT, began)) sent = send_some(left);
    broken_ = sent <= 0;
    sent_any_ = sent_any_ || sent > 0;
    if (!broken_) left.remove_prefix(static_cast<std::size_t>(sent));
  }
  out_.clear();
  return !broken_;
}

ssize_t BufferedSocket::send_some(std::string_view bytes) {
  if (ssl_ == nullptr) return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ERR_clear_error();
  errno = 0;
  const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
  return SSL_write(ssl_, bytes.data(), size);
}

/// 0: the peer has ended; negative, or of TLS below 1: awaited() says what that means.
ssize_t BufferedSocket::receive_now() {
  if (ssl_ == nullptr) return ::recv(fd_, in_.get(), kInBytes, 0);
  ERR_clear_error();
  errno = 0;
  const int got = SSL_read(ssl_, in_.get(), static_cast<int>(kInBytes));
  if (got > 0) return got;
  return SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

ssize_t BufferedSocket::receive() {
  const auto began = steady_clock::now();
  ssize_t got = receive_now();
  while (got < 0 && wait_after(got, POLLIN, began)) got = receive_now();
  return got;
}

short BufferedSocket::awaited(ssize_t result, short events) const {
  if (result > 0) return 0;
  if (ssl_ == nullptr) {
    return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK ? events : short{0};
  }
  switch (SSL_get_error(ssl_, static_cast<int>(result))) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

bool BufferedSocket::wait_after(ssize_t result, short events,
                                steady_clock::time_point began) const {
  const short wanted = awaited(result, events);
  const auto left = std::chrono::ceil<milliseconds>(began + silence_ - steady_clock::now());
  if (wanted == 0 || left <= milliseconds{0}) return false;
  pollfd fd{fd_, wanted, 0};
  const auto time = static_cast<int>(std::min<milliseconds::rep>(left.count(), INT_MAX));
  const int ready = ::poll(&fd, 1, time);
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace snug
