#include "integration/http_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace snug::testing {
namespace {

constexpr int kPatienceMs = 30'000;
constexpr int kMomentMs = 5;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

HttpAnswer parse_head(const std::string& head) {
  HttpAnswer answer;
  std::istringstream lines{head};
  std::string line;
  std::getline(lines, line);
  std::istringstream{line.substr(std::min(line.size(), line.find(' ')))} >> answer.status;
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of('\r') + 1;
    answer.headers[lower(line.substr(0, colon))] = line.substr(colon + 2, end - colon - 2);
  }
  return answer;
}

}  // namespace

HttpClient::HttpClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpClient::post(std::string_view path, std::string_view body) {
  return send(post_text(path, body));
}

bool HttpClient::fill() {
  pollfd fd{fd_, POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) <= 0) return false;
  std::array<char, 65'536> buffer{};
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got <= 0) return false;
  in_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<HttpAnswer> HttpClient::receive(bool head_request) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  while (in_.find(kEnd) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  const std::size_t end = in_.find(kEnd);
  HttpAnswer answer = parse_head(in_.substr(0, end));
  in_.erase(0, end + kEnd.size());
  if (head_request || answer.status < 200) return answer;
  const auto length = answer.headers.find("content-length");
  if (length == answer.headers.end()) return std::nullopt;
  const std::size_t size = std::stoul(length->second);
  while (in_.size() < size) {
    if (!fill()) return std::nullopt;
  }
  answer.body = in_.substr(0, size);
  in_.erase(0, size);
  return answer;
}

bool HttpClient::receive_bytes(std::size_t count) {
  while (in_.size() < count) {
    if (!fill()) return false;
  }
  in_.erase(0, count);
  return true;
}

bool HttpClient::wait_closed() {
  if (!in_.empty()) return false;
  pollfd fd{fd_, POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) <= 0) return false;
  char byte = 0;
  return ::recv(fd_, &byte, 1, 0) <= 0;
}

bool HttpClient::something_came() const {
  pollfd fd{fd_, POLLIN, 0};
  return ::poll(&fd, 1, kMomentMs) > 0;
}

std::string post_text(std::string_view path, std::string_view body) {
  return "POST " + std::string{path} +
         " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

}  // namespace snug::testing
