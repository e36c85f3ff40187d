// One accepted connection as httplib's Stream: plain or TLS, buffered both ways, with deadlines of
// its own. httplib's own stream bounds neither the headers nor the time that a slow client takes,
// and polls an idle connection every 10 ms; this one does neither. Used by one thread, which has
// one at a time; the socket may be shut down from another, which ends every wait.
#pragma once

#include <httplib.h>
#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug {

class Connection final : public httplib::Stream {
 public:
  /// httplib takes a longer header for a malformed one. It is a compiled library, so that this is
  /// no setting.
  static constexpr std::size_t kMaxHeadLine = CPPHTTPLIB_HEADER_MAX_LENGTH;

  /// `fd` is non-blocking and stays the caller's; `tls` null: plain.
  Connection(int fd, SSL_CTX* tls, const Limits& limits);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// TLS only; false: it failed.
  [[nodiscard]] bool handshake();
  /// Waits for the first byte of a request. False: none came in time, or `wake_fd` became readable
  /// and none is there.
  [[nodiscard]] bool wait_for_request(int wake_fd, std::chrono::milliseconds at_most);
  /// From here on the head's bytes and the request's time are counted.
  void begin_request();
  /// The head is complete.
  void begin_body() { in_head_ = false; }
  /// Its reply has left, or never will.
  void end_request() { kept_.reset(); }
  bool flush();

  /// No request has come yet.
  [[nodiscard]] bool fresh() const { return fresh_; }
  void keep_until_sent(std::shared_ptr<const void> thing) { kept_ = std::move(thing); }

  /// The request is refused before it was read: nothing of it may be taken for another.
  void refuse_rest() { refused_ = true; }
  [[nodiscard]] bool refused() const { return refused_; }
  /// The reply says that no other will follow on this connection.
  void end_after_reply() { ending_ = true; }
  [[nodiscard]] bool ending() const { return ending_; }
  /// The head went past maxHeaderBytes, or one of its lines past kMaxHeadLine.
  [[nodiscard]] bool head_too_large() const { return head_too_large_; }
  [[nodiscard]] bool head_line_too_long() const { return head_line_ > kMaxHeadLine; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  [[nodiscard]] bool replied() const { return replied_; }
  /// Reads and drops what a refused client still sends, for a short while, so that the reply is not
  /// lost to a reset.
  void linger(int wake_fd);

  bool is_readable() const override;
  bool is_writable() const override { return !broken_; }
  ssize_t read(char* out, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  // Nobody asks where a request came from.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return fd_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct FreeSsl {
    void operator()(SSL* ssl) const;
  };

  /// Waits until the socket is ready for `events`, within the request's time.
  [[nodiscard]] bool wait(short events);
  /// After a call that could not go on: whether to try it again.
  [[nodiscard]] bool retry_plain(short events);
  [[nodiscard]] bool retry_tls(int result);
  [[nodiscard]] ssize_t receive(char* out, std::size_t size);
  [[nodiscard]] bool send_plain(const char* data, std::size_t size);
  [[nodiscard]] bool send_tls(const char* data, std::size_t size);
  /// False: the head is too large.
  [[nodiscard]] bool count_head(std::string_view bytes);

  int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::chrono::milliseconds silence_;
  std::chrono::milliseconds whole_;
  std::size_t max_head_;
  Time deadline_{};
  char* const in_;  // kInBuffer bytes, lent by the thread
  std::size_t in_from_ = 0;
  std::size_t in_to_ = 0;
  std::string out_;
  std::size_t head_bytes_ = 0;
  std::size_t head_line_ = 0;  // bytes of the header that is coming; the first line does not count
  bool first_line_ = true;
  std::shared_ptr<const void> kept_;
  bool fresh_ = true;
  bool in_head_ = true;
  bool head_too_large_ = false;
  bool timed_out_ = false;
  bool replied_ = false;
  bool refused_ = false;
  bool ending_ = false;
  bool broken_ = false;
};

}  // namespace snug
