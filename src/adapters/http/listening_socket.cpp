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

/// Returns a listening socket for `address`, or -1 with the error in errno.
int listen_at(const addrinfo& address, int backlog) {
  const int fd = ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int reuse_address = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse_address, sizeof reuse_address);
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, backlog) == 0) return fd;
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
  addrinfo* addresses = nullptr;
  const int lookup_error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                         std::to_string(port).c_str(), &hints, &addresses);
  if (lookup_error != 0) {
    return base::fail(base::ErrorCode::kInvalid,
                      "cannot listen on " + address + ": " + ::gai_strerror(lookup_error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{addresses, ::freeaddrinfo};
  for (const addrinfo* socket_address = addresses; socket_address != nullptr;
       socket_address = socket_address->ai_next) {
    if (const int fd = listen_at(*socket_address, backlog); fd >= 0)
      return ListeningSocket{fd, port_of(fd)};
  }
  return base::fail(
      errno == EADDRINUSE ? base::ErrorCode::kConflict : base::ErrorCode::kUnavailable,
      "cannot listen on " + address + ": " + system_message());
}

}  // namespace snug::http
