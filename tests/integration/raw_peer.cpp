#include "integration/raw_peer.hpp"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace snug::testing {
namespace {

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kHeader = "Content-Length: ";
  const auto at = head.find(kHeader);
  return at == head.npos ? 0 : std::stoul(std::string(head.substr(at + kHeader.size())));
}

std::shared_ptr<SSL_CTX> server_context(const Pem& pem) {
  const TempFolder folder;
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_use_certificate_file(
                context.get(), folder.write("cert", pem.certificate).c_str(), SSL_FILETYPE_PEM),
            1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), folder.write("key", pem.key).c_str(),
                                        SSL_FILETYPE_PEM),
            1);
  return context;
}

}  // namespace

int RawPeer::Session::receive(char* out, int size) const {
  if (ssl_ != nullptr) return SSL_read(ssl_, out, size);
  return static_cast<int>(::recv(socket_, out, static_cast<std::size_t>(size), 0));
}

std::string RawPeer::Session::hear() const {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos &&
        text.size() - end - 4 >= content_length(std::string_view(text).substr(0, end))) {
      return text;
    }
    const int got = receive(buffer.data(), static_cast<int>(buffer.size()));
    if (got <= 0) return {};
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void RawPeer::Session::say(std::string_view text) const {
  const auto size = static_cast<int>(text.size());
  const int said = ssl_ != nullptr
                       ? SSL_write(ssl_, text.data(), size)
                       : static_cast<int>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  EXPECT_EQ(said, size);
}

void RawPeer::Session::splice_to(int port) const {
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::connect(other, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto pass = [](int from, int to) {
    std::array<char, 16'384> buffer{};
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    return got > 0 && ::send(to, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  };
  bool going = true;
  while (going) {
    std::array<pollfd, 2> ends{pollfd{socket_, POLLIN, 0}, pollfd{other, POLLIN, 0}};
    going = ::poll(ends.data(), ends.size(), -1) > 0;
    if (going && ends[0].revents != 0) going = pass(socket_, other);
    if (going && ends[1].revents != 0) going = pass(other, socket_);
  }
  ::close(other);
}

void RawPeer::Session::reset() const {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
}

RawPeer::RawPeer(std::vector<Script> scripts, const std::optional<Pem>& certificate)
    : scripts_(std::move(scripts)), context_(certificate ? server_context(*certificate) : nullptr) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(socket_, plain, size), 0);
  EXPECT_EQ(::getsockname(socket_, plain, &size), 0);
  EXPECT_EQ(::listen(socket_, 16), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

RawPeer::~RawPeer() {
  ::shutdown(socket_, SHUT_RDWR);
  open_.change([](int& open) {
    if (open > 0) ::shutdown(open, SHUT_RDWR);
  });
  thread_.join();
  ::close(socket_);
}

kube::ApiEndpoint RawPeer::endpoint() const {
  kube::ApiEndpoint endpoint;
  endpoint.tls = false;
  endpoint.host = "127.0.0.1";
  endpoint.port = static_cast<std::uint16_t>(port_);
  return endpoint;
}

void RawPeer::serve() {
  for (std::size_t number = 0;; ++number) {
    const int client = ::accept(socket_, nullptr, nullptr);
    if (client < 0) return;
    open_.change([client](int& open) { open = client; });
    serve_one(client, number);
    open_.change([client](int& open) {
      open = 0;
      ::close(client);
    });
    closed.change([](int& count) { ++count; });
  }
}

void RawPeer::serve_one(int client, std::size_t number) {
  if (number >= scripts_.size()) return;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(
      context_ == nullptr ? nullptr : SSL_new(context_.get()), &SSL_free);
  if (ssl != nullptr && (SSL_set_fd(ssl.get(), client) != 1 || SSL_accept(ssl.get()) != 1)) return;
  Session session(client, ssl.get());
  scripts_[number](session);
}

std::string http_reply(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace snug::testing
