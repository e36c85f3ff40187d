// The container runtime's end of NRI's socket, for tests: listens in a temporary folder, accepts
// one plug-in at a time and calls it. All waits end after kPatienceMs; the test then fails. One
// thread uses it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "support/nri_proto.hpp"

namespace snug {

class FakeRuntime {
 public:
  static constexpr int kPatienceMs = 20'000;

  /// A ttrpc message from the plug-in.
  struct Message {
    std::size_t connection = 0;
    std::size_t stream = 0;
    int type = 0;
    std::string payload;
  };

  FakeRuntime() {
    std::string folder = std::filesystem::temp_directory_path() / "snug-nri-XXXXXX";
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
  }
  ~FakeRuntime() {
    disconnect();
    stop_listening();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  FakeRuntime(const FakeRuntime&) = delete;
  FakeRuntime& operator=(const FakeRuntime&) = delete;

  [[nodiscard]] std::string socket_path() const { return folder_ + "/nri.sock"; }

  void listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path().c_str(), sizeof address.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::bind(listener_, generic, sizeof address), 0);
    ASSERT_EQ(::listen(listener_, 4), 0);
  }
  void stop_listening() {
    close_fd(listener_);
    std::error_code ignored;
    std::filesystem::remove(socket_path(), ignored);
  }
  /// Waits for the plug-in and its registration, and returns its payload.
  std::string accept() {
    disconnect();
    if (!readable(listener_)) return "nobody connected";
    received_.clear();
    connection_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const Message request = receive();
    EXPECT_EQ(request.connection, 2);
    EXPECT_EQ(request.type, 1);
    registration_stream_ = request.stream;
    return request.payload;
  }
  void accept_registration() { send(response_on_runtime_connection("")); }
  void refuse_registration(std::string_view reason) {
    send(response_on_runtime_connection(
        proto::bytes_field(1, proto::number_field(1, 2) + proto::bytes_field(2, reason))));
  }
  void disconnect() { close_fd(connection_); }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(count, 0);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  /// Calls a method of the plug-in and returns the bytes of the response.
  std::string call(std::string_view method, std::string_view payload,
                   std::size_t frame_bytes = 1'000'000) {
    stream_ += 2;
    send(nri_proto::call(stream_, method, payload, frame_bytes));
    const Message response = receive();
    EXPECT_EQ(response.connection, 1);
    EXPECT_EQ(response.stream, stream_);
    EXPECT_EQ(response.type, 2);
    return response.payload;
  }
  /// Whether the plug-in closes the connection.
  bool sees_end() {
    char byte = 0;
    return readable(connection_) && ::recv(connection_, &byte, 1, 0) <= 0;
  }
  /// The next message of the plug-in.
  Message receive() {
    std::string stream;
    Message message;
    for (std::size_t length = 10; stream.size() < length;) {
      const std::string header = read(8);
      if (header.size() < 8) return message;
      message.connection = number(header);
      const std::size_t size = number(header.substr(4));
      EXPECT_LE(size, 4096) << "the runtime cannot read a longer frame";
      stream += read(size);
      if (stream.size() >= 10) length = 10 + number(stream);
    }
    message.stream = number(stream.substr(4));
    message.type = stream[8];
    message.payload = stream.substr(10);
    return message;
  }

 private:
  static std::size_t number(std::string_view bytes) {
    std::size_t value = 0;
    for (const char byte : bytes.substr(0, 4))
      value = value * 256 + static_cast<unsigned char>(byte);
    return value;
  }
  static void close_fd(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  static bool readable(int fd) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, kPatienceMs) > 0;
  }
  [[nodiscard]] std::string response_on_runtime_connection(std::string_view payload) const {
    return nri_proto::frame(2, nri_proto::ttrpc(registration_stream_, 2, payload));
  }
  /// Shorter than `size`: the plug-in has closed the connection, or sends nothing.
  std::string read(std::size_t size) {
    std::string chunk;
    while (received_.size() < size && readable(connection_)) {
      chunk.resize(65'536);
      const ssize_t count = ::recv(connection_, chunk.data(), chunk.size(), 0);
      if (count <= 0) break;
      received_.append(chunk, 0, static_cast<std::size_t>(count));
    }
    EXPECT_GE(received_.size(), size) << "the plug-in sent no more";
    std::string bytes = received_.substr(0, size);
    received_.erase(0, size);
    return bytes;
  }

  std::string folder_;
  int listener_ = -1;
  int connection_ = -1;
  std::size_t registration_stream_ = 0;
  std::size_t stream_ = 1;
  std::string received_;  // and not read yet
};

}  // namespace snug
