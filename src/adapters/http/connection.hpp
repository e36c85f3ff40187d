// One accepted connection, plain or TLS: reads heads without waiting, then the body and the reply
// of one request within the request's deadlines.
//
// Used by one thread at a time: the loop's, which never waits for the client (advance, drop), or
// the thread of its request. transfer() and cut() may be called by other threads meanwhile.
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

/// What follows a reply: the next request (kKeepAlive), the rest of what a refused client sends,
/// which is read and thrown away (kDiscardInput), or the end of the connection (kClose).
enum class NextAction { kKeepAlive, kDiscardInput, kClose };

class Connection {
 public:
  /// How far an operation came that does not wait: it goes on once the socket can be read
  /// (kWaitRead) or written (kWaitWrite), a whole head is there (kHead), or the connection is over
  /// (kEnd).
  enum class Step { kWaitRead, kWaitWrite, kHead, kEnd };

  /// `fd` is non-blocking and closed with the connection; `tls` null: plain.
  Connection(int fd, SSL_CTX* tls, const base::Limits& limits, const base::Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Continues the handshake, then reads the next head. kHead: head() has it.
  [[nodiscard]] Step advance();
  /// Whether part of a handshake or of a head has been received.
  [[nodiscard]] bool has_started() const;
  /// Whether the TLS handshake is complete, or not needed.
  [[nodiscard]] bool handshake_done() const { return handshake_done_; }
  /// Whether part of a head has been received after the TLS handshake, so that a reply can be sent.
  [[nodiscard]] bool is_reading_head() const { return handshake_done_ && !receive_buffer_.empty(); }
  /// Whether bytes are buffered here; a poll of the socket does not show them.
  [[nodiscard]] bool has_buffered_bytes() const;
  /// The head with its empty line; or, where more than max_header_bytes have come without one, all
  /// of them.
  [[nodiscard]] std::string_view head() const;
  /// `request` must have been read from head(). Valid until end_request().
  void accept(RequestHead request) { request_ = std::move(request); }
  [[nodiscard]] const RequestHead& request() const { return request_; }

  /// Begins to serve request(). Where `may_wait` is false, a read or write fails that would have to
  /// wait for the client.
  void begin_request(bool may_wait);
  /// To be called before the body is read: its time begins here, after whatever it has waited for.
  /// A client that asked for 100 Continue gets it now.
  void begin_body();
  /// Reads a body of `length` bytes into `body`. False: it did not come whole.
  [[nodiscard]] bool read_body(std::size_t length, std::string& body);
  /// Must be called when the reply has been sent, or sending has failed.
  void end_request();
  /// Keeps `thing` alive until end_request().
  void keep_alive_until_sent(std::shared_ptr<const void> thing) {
    kept_until_sent_ = std::move(thing);
  }
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  /// Sends the whole reply. False: the client has disconnected, or the deadline has passed.
  [[nodiscard]] bool send_reply(std::string_view head, std::string_view body);
  /// Sends a reply without waiting; discards what cannot be sent at once.
  void send_best_effort(std::string_view reply);
  /// Ends the sending side. The caller then calls drop() until the client has ended its own: a
  /// close with bytes unread would reset the connection, and the last reply could be lost.
  void shutdown_send();
  /// Reads and discards received bytes.
  [[nodiscard]] Step discard_input();

  [[nodiscard]] Transfer transfer() const;
  /// Shuts the connection down, which also ends a wait for the client.
  void abort();
  [[nodiscard]] bool is_aborted() const { return aborted_; }

  [[nodiscard]] int socket() const { return fd_; }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const;
  };

  [[nodiscard]] bool find_head();
  /// What the last call of OpenSSL, which returned `result`, waits for.
  [[nodiscard]] Step tls_step(int result) const;
  /// The count of bytes, 0 at the end of the stream; negative: none now, and `step` says why.
  [[nodiscard]] ssize_t receive_now(char* out, std::size_t size, Step& step);
  [[nodiscard]] ssize_t receive(char* out, std::size_t size);
  [[nodiscard]] bool flush() { return !broken_ && (send_buffer_.empty() || send_all({})); }
  /// Sends out_ and then `data`, without the first `from` bytes of the two; result and `step` as in
  /// receive_now.
  [[nodiscard]] ssize_t send_now(std::string_view data, std::size_t from, Step& step);
  [[nodiscard]] bool send_all(std::string_view data);
  /// Waits until the socket is ready for `step`; false: not in time, or the request may not wait.
  [[nodiscard]] bool wait(Step step);
  /// From now on a body or a reply is under way: sets its deadline, and counts its bytes.
  void begin_transfer();

  const int fd_;
  const base::Clock& clock_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  const std::chrono::milliseconds idle_timeout_;
  const std::chrono::milliseconds request_timeout_;
  const std::size_t max_head_;

  std::string receive_buffer_;  // the next head, and what came behind it in the same read
  std::size_t searched_bytes_ = 0;
  std::optional<std::size_t> head_end_;
  RequestHead request_;
  std::string_view unread_body_;  // in pending_: what came behind the head
  std::string send_buffer_;
  std::shared_ptr<const void> kept_until_sent_;
  base::TimePoint deadline_{};

  std::atomic<base::TimePoint> since_{base::TimePoint{}};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> is_blocked_{false};
  std::atomic<bool> aborted_{false};

  bool handshake_done_;
  bool may_wait_ = true;
  bool timed_out_ = false;
  bool broken_ = false;
};

}  // namespace snug::http
