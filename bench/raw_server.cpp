#include "raw_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server.hpp"

namespace snug_bench {
namespace {

/// Returns a reply with all NodeNames of `body`. It is about as large as a filter reply, and each
/// name is parsed and written as in filter.
std::string echo_names(simdjson::dom::parser& parser, const std::string& body) {
  std::string reply = R"({"NodeNames":[)";
  for (const std::string_view name : parser.parse(body)["NodeNames"].get_array()) {
    if (reply.back() != '[') reply += ',';
    reply += '"';
    reply += name;
    reply += '"';
  }
  return reply + "]}";
}

void serve(int listening) {
  const int fd = accept(listening, nullptr, nullptr);
  close(listening);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  simdjson::dom::parser parser;
  std::string buffer(1 << 20, '\0');
  for (;;) {
    std::size_t size = 0;
    std::size_t head = std::string_view::npos;
    std::size_t length = 0;
    while (head == std::string_view::npos || size < head + 4 + length) {
      const ssize_t n = read(fd, buffer.data() + size, buffer.size() - size);
      if (n <= 0) {
        close(fd);
        return;
      }
      size += static_cast<std::size_t>(n);
      const std::string_view come(buffer.data(), size);
      head = come.find("\r\n\r\n");
      const std::size_t at = come.find("Content-Length: ");
      if (at != std::string_view::npos) length = std::strtoul(&buffer[at + 16], nullptr, 10);
    }
    const std::string body = echo_names(parser, buffer.substr(head + 4, length));
    const std::string reply =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (write(fd, reply.data(), reply.size()) < 0) die_of_errno("write");
  }
}

}  // namespace

RawServer::RawServer() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd, any, size) != 0 || listen(fd, 1) != 0 || getsockname(fd, any, &size) != 0) {
    die_of_errno("listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread(serve, fd);
}

}  // namespace snug_bench
