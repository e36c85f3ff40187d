#include "adapters/nri/runtime_socket.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "snug/base/agent_limits.hpp"

namespace snug::nri {
namespace {

std::unexpected<base::Error> unavailable(std::string_view operation, int error) {
  return base::fail(base::ErrorCode::kUnavailable,
                    std::string(operation) + ": " + std::generic_category().message(error));
}

std::unexpected<base::Error> closed() {
  return base::fail(base::ErrorCode::kUnavailable, "the runtime closed the connection");
}

bool is_transient(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

StopSignal::StopSignal() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::raise() const {
  // The write succeeds, because the counter of the eventfd never gets close to its maximum.
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

bool StopSignal::wait_for(std::chrono::milliseconds time) const {
  pollfd waiting{.fd = event_.get(), .events = POLLIN, .revents = 0};
  // A signal handler only shortens the wait.
  return ::poll(&waiting, 1, static_cast<int>(time.count())) > 0;
}

base::Result<RuntimeSocket> RuntimeSocket::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return unavailable("connect", ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (socket.get() < 0) return unavailable("socket", errno);
  // A unix socket connects without delay, or fails with EAGAIN if the runtime's queue is full.
  const auto* generic_address = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), generic_address, sizeof address) != 0) {
    return unavailable("connect", errno);
  }
  return RuntimeSocket{std::move(socket)};
}

base::Result<void> RuntimeSocket::wait(short events, const StopSignal& stop) const {
  std::array<pollfd, 2> waiting{{{.fd = socket_.get(), .events = events, .revents = 0},
                                 {.fd = stop.fd(), .events = POLLIN, .revents = 0}}};
  if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
    return unavailable("poll", errno);
  }
  if (waiting[1].revents == 0) return {};
  return base::fail(base::ErrorCode::kUnavailable, "the plug-in ends the connection");
}

base::Result<void> RuntimeSocket::read(std::string& bytes, const StopSignal& stop) const {
  for (;;) {
    if (auto waited = wait(POLLIN, stop); !waited) return waited;
    bytes.resize(base::agent_limits::nri_frame_bytes);
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count == 0) return closed();
    if (count > 0) {
      bytes.resize(static_cast<std::size_t>(count));
      return {};
    }
    if (!is_transient(errno)) return unavailable("recv", errno);
  }
}

base::Result<void> RuntimeSocket::write(std::string_view bytes, const StopSignal& stop) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EPIPE) return closed();
    if (!is_transient(errno)) return unavailable("send", errno);
    if (auto waited = wait(POLLOUT, stop); !waited) return waited;
  }
  return {};
}

}  // namespace snug::nri
