#include "agent_app/probe_link.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace snug::agent_app {
namespace {

constexpr std::chrono::milliseconds kRetry{200};

std::string socket_name(const std::string& pod) { return "snug-probe." + pod; }

/// The address of an abstract socket: its path begins with a zero byte.
std::pair<sockaddr_un, socklen_t> abstract_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)};
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

ProbeLink::ProbeLink(const std::string& pod) : name_(socket_name(pod)) {}

ProbeLink::~ProbeLink() {
  if (listener_ < 0) return;
  ::shutdown(listener_, SHUT_RDWR);  // ends accept()
  thread_.join();
  ::close(listener_);
  restart_probe();
}

base::Result<void> ProbeLink::start() {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto [address, length] = abstract_address(name_);
  if (listener_ < 0 || ::bind(listener_, generic(address), length) != 0 ||
      ::listen(listener_, 4) != 0) {
    const int error = errno;
    if (listener_ >= 0) ::close(std::exchange(listener_, -1));
    return base::fail(base::ErrorCode::kUnavailable,
                      "the socket @" + name_ + " cannot be opened: " + std::strerror(error));
  }
  thread_ = std::thread([this] { accept_probes(); });
  return {};
}

void ProbeLink::accept_probes() {
  while (true) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EINVAL) return;  // shut down
      if (errno != EINTR && errno != ECONNABORTED) std::this_thread::sleep_for(kRetry);
      continue;
    }
    const base::MutexLock lock(mutex_);
    // Only the newest probe counts: an older one has ended.
    if (connection_ >= 0) ::close(connection_);
    connection_ = connection;
  }
}

void ProbeLink::restart_probe() {
  const base::MutexLock lock(mutex_);
  if (connection_ >= 0) ::close(std::exchange(connection_, -1));
}

void wait_as_probe(const std::string& pod) {
  const auto [address, length] = abstract_address(socket_name(pod));
  while (true) {
    const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0 && ::connect(connection, generic(address), length) == 0) {
      char byte = 0;
      while (::read(connection, &byte, 1) < 0 && errno == EINTR) {
      }
      ::close(connection);
      return;
    }
    if (connection >= 0) ::close(connection);
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace snug::agent_app
