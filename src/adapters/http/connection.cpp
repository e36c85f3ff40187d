#include "adapters/http/connection.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace snug::http {
namespace {

using std::chrono::milliseconds;

/// Maximum number of bytes that one read of a head receives. This number and kSendBufferBytes
/// affect only speed, so they need not be configurable.
constexpr std::size_t kReceiveBufferBytes = 16'384;
/// Maximum size of a reply whose head and body are copied into one buffer before they are sent.
constexpr std::size_t kSendBufferBytes = 16'384;

/// Returns this thread's buffer of kReceiveBufferBytes bytes. All connections use it, because
/// kube-scheduler opens many short connections. If each connection freed a buffer of this size, the
/// allocator would consolidate its free memory each time.
char* thread_buffer() {
  thread_local const std::unique_ptr<char[]> buffer =
      std::make_unique_for_overwrite<char[]>(kReceiveBufferBytes);
  return buffer.get();
}

/// Interprets errno after a failed call on a socket without TLS. Returns `blocked` if the socket
/// was not ready, otherwise kEnd.
Connection::Step socket_step(Connection::Step blocked) {
  return errno == EAGAIN || errno == EWOULDBLOCK ? blocked : Connection::Step::kEnd;
}

}  // namespace

void Connection::FreeSsl::operator()(SSL* ssl) const { SSL_free(ssl); }

Connection::Connection(int fd, SSL_CTX* tls, const base::Limits& limits, const base::Clock& clock)
    : fd_(fd),
      clock_(clock),
      ssl_(tls == nullptr ? nullptr : SSL_new(tls)),
      idle_timeout_(limits.request_silence_ms),
      request_timeout_(limits.request_ms),
      max_head_(static_cast<std::size_t>(limits.max_header_bytes)),
      handshake_done_(tls == nullptr) {
  broken_ =
      (tls != nullptr && ssl_ == nullptr) || (ssl_ != nullptr && SSL_set_fd(ssl_.get(), fd_) != 1);
}

Connection::~Connection() {
  if (ssl_ != nullptr && handshake_done_ && !broken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::close(fd_);
}

Connection::Step Connection::advance() {
  if (find_head()) return Step::kHead;
  if (broken_) return Step::kEnd;
  if (!handshake_done_) {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result != 1) return tls_step(result);
    handshake_done_ = true;
  }
  for (;;) {
    Step step = Step::kEnd;
    const ssize_t received_bytes = receive_now(thread_buffer(), kReceiveBufferBytes, step);
    if (received_bytes <= 0) return step;
    receive_buffer_.append(thread_buffer(), static_cast<std::size_t>(received_bytes));
    if (find_head()) return Step::kHead;
  }
}

bool Connection::find_head() {
  if (!head_end_) head_end_ = find_head_end(receive_buffer_, searched_bytes_);
  searched_bytes_ = receive_buffer_.size();
  return head_end_ || receive_buffer_.size() > max_head_;
}

bool Connection::has_started() const {
  if (!handshake_done_) return !broken_ && BIO_number_read(SSL_get_rbio(ssl_.get())) > 0;
  return !receive_buffer_.empty();
}

bool Connection::has_buffered_bytes() const {
  return !receive_buffer_.empty() || (ssl_ != nullptr && SSL_pending(ssl_.get()) > 0);
}

std::string_view Connection::head() const {
  return std::string_view{receive_buffer_}.substr(0, head_end_.value_or(receive_buffer_.size()));
}

void Connection::begin_request(bool may_wait) {
  unread_body_ =
      std::string_view{receive_buffer_}.substr(head_end_.value_or(receive_buffer_.size()));
  may_wait_ = may_wait;
  begin_transfer();
}

void Connection::begin_transfer() {
  const base::TimePoint now = clock_.now();
  transfer_deadline_ = now + request_timeout_;
  transfer_started_ = now;
  transfer_bytes_ = 0;
}

void Connection::begin_body() {
  if (request_.expects_continue && unread_body_.empty())
    send_buffer_.append("HTTP/1.1 100 Continue\r\n\r\n");
  begin_transfer();
}

void Connection::end_request() {
  kept_until_sent_.reset();
  std::string next_request_bytes{unread_body_};
  unread_body_ = {};
  receive_buffer_.swap(next_request_bytes);
  searched_bytes_ = 0;
  head_end_.reset();
}

bool Connection::wait_for_socket(Step step) {
  if (!may_wait_ || step == Step::kEnd) return false;
  // The socket of a client that sends without end is always ready.
  if (clock_.now() >= transfer_deadline_) {
    timed_out_ = true;
    return false;
  }
  const auto wait_limit =
      std::min<std::chrono::nanoseconds>(transfer_deadline_ - clock_.now(), idle_timeout_);
  const auto ms = std::chrono::ceil<milliseconds>(wait_limit).count();
  pollfd socket_poll{fd_, static_cast<short>(step == Step::kWaitRead ? POLLIN : POLLOUT), 0};
  is_blocked_ = true;
  const int ready =
      ::poll(&socket_poll, 1, static_cast<int>(std::clamp<std::int64_t>(ms, 0, INT_MAX)));
  is_blocked_ = false;
  if (ready == 0) timed_out_ = true;
  return !aborted_ && (ready > 0 || (ready < 0 && errno == EINTR));
}

Connection::Step Connection::tls_step(int result) const {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Step::kWaitRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWaitWrite;
    default:
      return Step::kEnd;
  }
}

ssize_t Connection::receive_now(char* out, std::size_t size, Step& step) {
  ssize_t received_bytes = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    received_bytes = SSL_read(ssl_.get(), out, static_cast<int>(size));
    const bool ended =
        received_bytes <= 0 &&
        SSL_get_error(ssl_.get(), static_cast<int>(received_bytes)) == SSL_ERROR_ZERO_RETURN;
    if (received_bytes <= 0) step = tls_step(static_cast<int>(received_bytes));
    if (received_bytes <= 0 && !ended) return -1;
  } else {
    do {
      received_bytes = ::recv(fd_, out, size, 0);
    } while (received_bytes < 0 && errno == EINTR);
    if (received_bytes < 0) step = socket_step(Step::kWaitRead);
  }
  if (received_bytes > 0) transfer_bytes_ += static_cast<std::uint64_t>(received_bytes);
  return received_bytes;
}

ssize_t Connection::receive(char* out, std::size_t size) {
  for (;;) {
    Step step = Step::kEnd;
    const ssize_t received_bytes = receive_now(out, size, step);
    if (received_bytes >= 0 || !wait_for_socket(step)) return received_bytes;
  }
}

bool Connection::read_body(std::size_t length, std::string& body) {
  body.assign(unread_body_.substr(0, length));
  unread_body_.remove_prefix(body.size());
  if (body.size() < length && !flush()) return false;
  const std::size_t buffered_bytes = body.size();
  body.resize_and_overwrite(length, [&](char* out, std::size_t) {
    std::size_t body_bytes = buffered_bytes;
    while (body_bytes < length) {
      const ssize_t received_bytes = receive(out + body_bytes, length - body_bytes);
      if (received_bytes <= 0) break;
      body_bytes += static_cast<std::size_t>(received_bytes);
    }
    return body_bytes;
  });
  return body.size() == length;
}

bool Connection::send_reply(std::string_view head, std::string_view body) {
  if (broken_) return false;
  begin_transfer();
  send_buffer_.append(head);
  if (send_buffer_.size() + body.size() > kSendBufferBytes) return send_all(body);
  send_buffer_.append(body);
  return send_all({});
}

/// Without TLS, sends send_buffer_ and `reply_body` with one system call, so that they use as few
/// packets as possible.
ssize_t Connection::send_now(std::string_view reply_body, std::size_t reply_offset, Step& step) {
  ssize_t sent_bytes = 0;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    const auto chunk_size = std::min<std::size_t>(send_buffer_.size() - reply_offset, INT_MAX);
    sent_bytes =
        SSL_write(ssl_.get(), send_buffer_.data() + reply_offset, static_cast<int>(chunk_size));
    if (sent_bytes <= 0) step = tls_step(static_cast<int>(sent_bytes));
  } else {
    const std::size_t head_offset = std::min(reply_offset, send_buffer_.size());
    const std::size_t body_offset = reply_offset - head_offset;
    std::array<iovec, 2> unsent_parts{
        {{send_buffer_.data() + head_offset, send_buffer_.size() - head_offset},
         {const_cast<char*>(reply_body.data()) + body_offset, reply_body.size() - body_offset}}};
    msghdr message{};
    message.msg_iov = unsent_parts.data();
    message.msg_iovlen = unsent_parts.size();
    do {
      sent_bytes = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    } while (sent_bytes < 0 && errno == EINTR);
    if (sent_bytes < 0) step = socket_step(Step::kWaitWrite);
  }
  if (sent_bytes > 0) transfer_bytes_ += static_cast<std::uint64_t>(sent_bytes);
  return sent_bytes;
}

bool Connection::send_all(std::string_view reply_body) {
  if (ssl_ != nullptr) {
    send_buffer_.append(reply_body);
    reply_body = {};
  }
  const std::size_t reply_size = send_buffer_.size() + reply_body.size();
  for (std::size_t reply_offset = 0; reply_offset < reply_size;) {
    Step step = Step::kEnd;
    const ssize_t sent_bytes = send_now(reply_body, reply_offset, step);
    if (sent_bytes > 0) {
      reply_offset += static_cast<std::size_t>(sent_bytes);
    } else if (!wait_for_socket(step)) {
      broken_ = true;
      return false;
    }
  }
  send_buffer_.clear();
  return true;
}

void Connection::send_best_effort(std::string_view reply) {
  may_wait_ = false;
  send_buffer_.append(reply);
  [[maybe_unused]] const bool sent = flush();
}

void Connection::shutdown_send() {
  if (!flush()) return;
  if (ssl_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::shutdown(fd_, SHUT_WR);
  broken_ = true;
}

Connection::Step Connection::discard_input() {
  const ssize_t discarded_bytes = ::recv(fd_, thread_buffer(), kReceiveBufferBytes, 0);
  if (discarded_bytes > 0 || (discarded_bytes < 0 && errno == EINTR)) return Step::kWaitRead;
  return discarded_bytes == 0 ? Step::kEnd : socket_step(Step::kWaitRead);
}

Transfer Connection::transfer() const { return {transfer_started_, transfer_bytes_, is_blocked_}; }

void Connection::abort() {
  aborted_ = true;
  ::shutdown(fd_, SHUT_RDWR);
}

}  // namespace snug::http
