// One accepted connection, plain or TLS. It reads the head of a request without blocking; then it
// reads the body and sends the reply, and may block until the request's deadline.
//
// One thread at a time uses a connection: the thread of the ConnectionLoop, which calls only
// functions that do not block, or the thread of the request. Any thread may call transfer(),
// abort() and is_aborted().
#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/http/request_head.hpp"
#include "adapters/http/slow_transfers.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"

namespace snug::http {

/// What to do with a connection after a reply: read the next request (kKeepAlive), read and discard
/// what the client of a refused request still sends (kDiscardInput), or close it (kClose).
enum class NextAction { kKeepAlive, kDiscardInput, kClose };

class Connection {
 public:
  /// The result of an operation that does not block. kWaitRead and kWaitWrite: call it again when
  /// the socket is readable or writable. kHead: a complete head has been received. kEnd: the
  /// connection has ended or failed.
  enum class Step { kWaitRead, kWaitWrite, kHead, kEnd };

  /// Takes over `fd`, a non-blocking socket. If `tls` is null, the connection does not use TLS.
  Connection(int fd, SSL_CTX* tls, const base::Limits& limits, const base::Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Continues the TLS handshake, then reads the next head, without blocking. kHead: head() returns
  /// the head.
  [[nodiscard]] Step advance();
  /// Returns whether bytes of a TLS handshake or of a head have been received.
  [[nodiscard]] bool has_started() const;
  /// Returns whether the TLS handshake is complete; true for a connection without TLS.
  [[nodiscard]] bool handshake_done() const { return handshake_done_; }
  /// Returns whether the TLS handshake is complete and bytes of a head have been received. If so,
  /// an error reply can be sent to the client.
  [[nodiscard]] bool is_reading_head() const { return handshake_done_ && !receive_buffer_.empty(); }
  /// Returns whether received bytes are buffered in this object, where poll() does not see them.
  [[nodiscard]] bool has_buffered_bytes() const;
  /// Returns the head with its final empty line. If more than max_header_bytes have been received
  /// without an empty line, returns all received bytes.
  [[nodiscard]] std::string_view head() const;
  /// Stores the request that was parsed from head(). request() is valid until end_request(), since
  /// its fields refer to the buffer of the head.
  void accept(RequestHead request) { request_ = std::move(request); }
  [[nodiscard]] const RequestHead& request() const { return request_; }

  /// Begins to serve request(). If `may_wait` is false, a read or write fails instead of waiting
  /// for the client.
  void begin_request(bool may_wait);
  /// Starts the deadline of the body. Call it before read_body() and after any wait for memory. If
  /// the client sent Expect: 100-continue, queues the interim reply 100 Continue, which read_body()
  /// sends.
  void begin_body();
  /// Reads a body of `length` bytes into `body`. False: the connection ended or a time limit passed
  /// before all bytes had arrived.
  [[nodiscard]] bool read_body(std::size_t length, std::string& body);
  /// Ends the request. Must be called after the reply has been sent or could not be sent.
  void end_request();
  /// Keeps `thing` alive until end_request().
  void keep_alive_until_sent(std::shared_ptr<const void> thing) {
    kept_until_sent_ = std::move(thing);
  }
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  /// Sends the whole reply. False: the connection ended or a time limit passed before the whole
  /// reply was sent.
  [[nodiscard]] bool send_reply(std::string_view head, std::string_view body);
  /// Sends as much of the reply as possible without blocking, and discards the rest.
  void send_best_effort(std::string_view reply);
  /// Closes the sending side. The caller then calls discard_input() until the client has closed its
  /// side. Closing a socket that has unread bytes would reset the connection, and the client could
  /// lose the last reply.
  void shutdown_send();
  /// Reads and discards received bytes, without blocking.
  [[nodiscard]] Step discard_input();

  /// The progress of the current body or reply.
  [[nodiscard]] Transfer transfer() const;
  /// Shuts the socket down. A thread that waits for the client then wakes up, and its read or write
  /// fails.
  void abort();
  [[nodiscard]] bool is_aborted() const { return aborted_; }

  [[nodiscard]] int socket() const { return fd_; }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const;
  };

  [[nodiscard]] bool find_head();
  /// Interprets `result`, which the last OpenSSL call returned. Returns what that call waits for,
  /// or kEnd if the connection has ended or failed.
  [[nodiscard]] Step tls_step(int result) const;
  /// Receives up to `size` bytes without blocking, and returns their number. 0: the client has
  /// closed its side. Negative: nothing was received, and `step` is what to wait for, or kEnd after
  /// an error.
  [[nodiscard]] ssize_t receive_now(char* out, std::size_t size, Step& step);
  [[nodiscard]] ssize_t receive(char* out, std::size_t size);
  [[nodiscard]] bool flush() { return !broken_ && (send_buffer_.empty() || send_all({})); }
  /// Treats send_buffer_ and `reply_body` as one sequence of bytes, and sends bytes of it from
  /// offset `reply_offset` on, without blocking. The result and `step` are as in receive_now().
  [[nodiscard]] ssize_t send_now(std::string_view reply_body, std::size_t reply_offset, Step& step);
  [[nodiscard]] bool send_all(std::string_view reply_body);
  /// Waits until the socket is ready for `step`. False: the deadline or request_silence_ms has
  /// passed, the connection was aborted or has ended, or the request must not wait.
  [[nodiscard]] bool wait_for_socket(Step step);
  /// Begins a body or a reply: sets its deadline and resets the count of its bytes.
  void begin_transfer();

  const int fd_;
  const base::Clock& clock_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  const std::chrono::milliseconds idle_timeout_;
  const std::chrono::milliseconds request_timeout_;
  const std::size_t max_head_;

  std::string receive_buffer_;  // the next head, and bytes that were received with it
  std::size_t searched_bytes_ = 0;
  std::optional<std::size_t> head_end_;
  RequestHead request_;
  std::string_view unread_body_;  // bytes in receive_buffer_ after the head, not yet used
  std::string send_buffer_;
  std::shared_ptr<const void> kept_until_sent_;
  base::TimePoint transfer_deadline_{};

  std::atomic<base::TimePoint> transfer_started_{base::TimePoint{}};
  std::atomic<std::uint64_t> transfer_bytes_{0};
  std::atomic<bool> is_blocked_{false};
  std::atomic<bool> aborted_{false};

  bool handshake_done_;
  bool may_wait_ = true;
  bool timed_out_ = false;
  bool broken_ = false;
};

}  // namespace snug::http
