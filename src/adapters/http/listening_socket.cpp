#include "adapters/http/listening_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "snug/adapters/http/http_options.hpp"

namespace snug::http {
namespace {

std::string system_message() { return std::generic_category().message(errno); }

/// Returns a listening socket for the address `at`, or -1 with the error in errno.
int listen_at(const addrinfo& at, int backlog) {
  const int fd = ::socket(at.ai_family, at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, at.ai_addr, at.ai_addrlen) == 0 && ::listen(fd, backlog) == 0) return fd;
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

std::string address_text(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

base::Result<ListeningSocket> listen_on(const std::string& host, int port, int backlog) {
  const std::string address = address_text(host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    return base::fail(base::ErrorCode::kInvalid,
                      "cannot listen on " + address + ": " + ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, ::freeaddrinfo};
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (const int fd = listen_at(*at, backlog); fd >= 0) return ListeningSocket{fd, port_of(fd)};
  }
  return base::fail(base::ErrorCode::kUnavailable,
                    "cannot listen on " + address + ": " + system_message());
}

}  // namespace snug::http
