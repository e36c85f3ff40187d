// What goes over a connection to the API server, in as few reads and writes of the system (and so
// TLS records) as may be: reads take what has come and keep the rest, writes are gathered until a
// read or flush() sends them. The socket, which becomes non-blocking, and with TLS its SSL are
// somebody else's. One thread.
#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace snug {

class BufferedSocket {
 public:
  /// `silence`: the longest wait for the peer to take or to send anything.
  explicit BufferedSocket(std::chrono::milliseconds silence);

  /// What was kept of the socket before is forgotten. `ssl` may be null: plain text.
  void attach(int fd, SSL* ssl);
  /// Before each request. False: the peer has ended, or has sent what nobody asked for.
  [[nodiscard]] bool begin_request();

  /// At least a byte; 0: the peer has ended; -1: an error or silence.
  [[nodiscard]] ssize_t read(char* out, std::size_t size);
  /// False: an error or silence, and every later write fails as well.
  [[nodiscard]] bool write(std::string_view bytes);
  [[nodiscard]] bool flush();

  [[nodiscard]] bool broken() const { return broken_; }
  /// False: nothing of this request has left, or with TLS not the whole of what was to leave at
  /// once, so that the peer does not have the request whole.
  [[nodiscard]] bool sent_any() const { return sent_any_; }
  /// Bytes have come that nobody has read.
  [[nodiscard]] bool has_rest() const { return from_ < to_; }

 private:
  [[nodiscard]] ssize_t receive_now();
  [[nodiscard]] ssize_t receive();
  [[nodiscard]] ssize_t send_some(std::string_view bytes);
  /// What a call that moved no byte waits for, as for poll(); 0: there is no hope.
  [[nodiscard]] short awaited(ssize_t result, short events) const;
  [[nodiscard]] bool wait_after(ssize_t result, short events,
                                std::chrono::steady_clock::time_point began) const;

  const std::chrono::milliseconds silence_;
  int fd_ = -1;
  SSL* ssl_ = nullptr;
  std::unique_ptr<char[]> in_;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
  std::string out_;
  bool broken_ = false;
  bool sent_any_ = false;
};

}  // namespace snug
