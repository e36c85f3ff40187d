// The extender port of a real server, on a connection of its own for each input. Each connection
// ends, with complete replies; and each request that reaches a handler is one that the client sent,
// in its order.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/adapters/http/extender_server.hpp"
#include "snug/base/mutex.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

constexpr int kHangMs = 8'000;  // longer than any limit of the server

/// Remembers the bodies that reach it.
class Server {
 public:
  Server() : server_(handlers(), {}, limits()) {
    require(server_.start().has_value(), "the server starts");
  }

  [[nodiscard]] int port() const { return server_.port(); }
  std::vector<std::string> take_bodies() SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return std::exchange(bodies_, {});
  }

 private:
  static base::Limits limits() {
    base::Limits limits;
    limits.max_body_bytes = 1'024;
    limits.max_header_bytes = 2'048;
    limits.max_headers = 8;
    return limits;
  }

  http::ExtenderHandlers handlers() {
    const auto take = [this](std::string& body) {
      const base::MutexLock lock(mutex_);
      bodies_.push_back(body);
      return service::Reply{200, "{}"};
    };
    return {take, take, take, take};
  }

  base::Mutex mutex_;
  std::vector<std::string> bodies_ SNUG_GUARDED_BY(mutex_);
  http::ExtenderServer server_;
};

/// Whether the connection is made. libFuzzer's alarm can interrupt connect(), which the kernel then
/// completes in the background.
bool connects(int fd, const sockaddr_in& address) {
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  if (errno != EINTR) return false;
  pollfd writable{fd, POLLOUT, 0};
  if (TEMP_FAILURE_RETRY(::poll(&writable, 1, kHangMs)) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/// Sends all, and returns all that the server answers until it ends the connection.
std::string talk(int port, std::string_view text) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(connects(fd, address), "a connection");
  while (!text.empty()) {
    const ssize_t sent = TEMP_FAILURE_RETRY(::send(fd, text.data(), text.size(), MSG_NOSIGNAL));
    if (sent <= 0) break;  // the server has ended the connection
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  ::shutdown(fd, SHUT_WR);
  std::string reply;
  std::array<char, 4'096> buffer{};
  while (true) {
    pollfd readable{fd, POLLIN, 0};
    // libFuzzer's alarm interrupts these calls, too.
    const auto ready = TEMP_FAILURE_RETRY(::poll(&readable, 1, kHangMs));
    require(ready == 1, "the server ends the connection");
    const ssize_t got = TEMP_FAILURE_RETRY(::recv(fd, buffer.data(), buffer.size(), 0));
    if (got <= 0) break;
    reply.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return reply;
}

std::string_view value_after(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == head.npos) return {};
  const std::string_view value = head.substr(at + name.size());
  return value.substr(0, value.find("\r\n"));
}

/// The number of replies with status 200. Requires that all are complete.
std::size_t count_done(std::string_view replies, bool head_request) {
  std::size_t done = 0;
  while (!replies.empty()) {
    require(replies.starts_with("HTTP/1.1 "), "a reply begins with its status");
    const std::size_t end = replies.find("\r\n\r\n");
    require(end != replies.npos, "the head of a reply is complete");
    const std::string_view head = replies.substr(0, end + 2);
    replies.remove_prefix(end + 4);
    if (head.starts_with("HTTP/1.1 100")) continue;
    done += head.starts_with("HTTP/1.1 200") ? 1 : 0;
    const std::string_view length = value_after(head, "\r\nContent-Length: ");
    std::size_t bytes = 0;
    const auto read = std::from_chars(length.data(), length.data() + length.size(), bytes);
    require(!length.empty() && read.ec == std::errc(), "a reply has a length");
    if (head_request && replies.empty()) break;  // to HEAD, a reply has no body
    require(replies.size() >= bytes, "the body of a reply is complete");
    replies.remove_prefix(bytes);
  }
  return done;
}

}  // namespace

void take_input(std::string_view input) {
  static Server& server = *new Server;  // its threads run until the process ends
  const std::string replies = talk(server.port(), input);
  const std::vector<std::string> bodies = server.take_bodies();
  const bool head_request = input.find("HEAD") != input.npos;
  require(count_done(replies, head_request) <= bodies.size(), "each 200 is the reply of a handler");
  for (const std::string& body : bodies) {
    const std::size_t at = input.find(body);
    require(at != input.npos, "a handler gets what the client sent");
    input.remove_prefix(at + body.size());
  }
}

}  // namespace snug::fuzz
