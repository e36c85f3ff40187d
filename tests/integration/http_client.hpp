// A raw HTTP client over one socket: it sends exactly the bytes that a test wants, and reads whole
// replies. Waits end with the awaited event; the deadline is for failures only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace snug::testing {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // keys in lower case
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] bool connected() const { return fd_ >= 0; }
  /// False: the server has closed.
  bool send(std::string_view bytes);
  bool post(std::string_view path, std::string_view body);
  /// Nothing: the connection ended before a whole reply. A reply to HEAD has no body.
  [[nodiscard]] std::optional<HttpAnswer> receive(bool head_request = false);
  /// Waits for bytes that are no reply; false: the connection ended before so many.
  [[nodiscard]] bool receive_bytes(std::size_t count);
  /// Waits until the server closes; false: bytes came instead.
  [[nodiscard]] bool wait_closed();
  /// Whether bytes (or the end) are there within a moment; for clients that go on meanwhile.
  [[nodiscard]] bool something_came() const;
  /// As a process that dies.
  void close();

 private:
  [[nodiscard]] bool fill();

  int fd_ = -1;
  std::string in_;
};

/// POST with the usual headers.
[[nodiscard]] std::string post_text(std::string_view path, std::string_view body);

}  // namespace snug::testing
