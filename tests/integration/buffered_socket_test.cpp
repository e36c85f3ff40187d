#include "adapters/kube/buffered_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

namespace snug {
namespace {

constexpr std::chrono::seconds kLong{20};

/// Both ends of a connection without TLS; with it, KubeTlsTest goes the same way.
class BufferedSocketTest : public ::testing::Test {
 protected:
  BufferedSocketTest() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  }
  void TearDown() override {
    for (const int end : ends) ::close(end);
  }

  void peer_says(std::string_view text) const {
    ASSERT_EQ(::send(ends[1], text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// What has come to the peer so far.
  [[nodiscard]] std::string peer_hears() const {
    std::array<char, 256> text{};
    const ssize_t got = ::recv(ends[1], text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

  std::array<int, 2> ends{-1, -1};
};

TEST_F(BufferedSocketTest, WhatHasComeIsReadOnceAndGivenInAnyParts) {
  BufferedSocket socket(kLong);
  socket.attach(ends[0], nullptr);
  peer_says("abcdef");
  std::array<char, 4> out{};
  EXPECT_EQ(socket.read(out.data(), 1), 1);
  EXPECT_EQ(out[0], 'a');
  EXPECT_EQ(peer_hears(), "");
  EXPECT_TRUE(socket.has_rest());
  std::array<char, 1> left{};
  EXPECT_EQ(::recv(ends[0], left.data(), 1, MSG_DONTWAIT | MSG_PEEK), -1) << "all was taken";
  EXPECT_EQ(socket.read(out.data(), 4), 4);
  EXPECT_EQ(std::string(out.data(), 4), "bcde");
  EXPECT_EQ(socket.read(out.data(), 4), 1);
  EXPECT_FALSE(socket.has_rest());
}

TEST_F(BufferedSocketTest, WritesLeaveTogetherAndBeforeARead) {
  BufferedSocket socket(kLong);
  socket.attach(ends[0], nullptr);
  EXPECT_TRUE(socket.write("head "));
  EXPECT_TRUE(socket.write("body"));
  EXPECT_EQ(peer_hears(), "");
  peer_says("x");
  std::array<char, 1> out{};
  EXPECT_EQ(socket.read(out.data(), 1), 1);
  EXPECT_EQ(peer_hears(), "head body");
  EXPECT_TRUE(socket.write("more"));
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(peer_hears(), "more");
}

TEST_F(BufferedSocketTest, MuchIsSentWithoutWaitingForARead) {
  const std::string much(3'000'000, 'y');
  std::string heard;
  std::thread peer([&] {
    std::array<char, 65'536> part{};
    while (heard.size() < much.size()) {
      const ssize_t got = ::recv(ends[1], part.data(), part.size(), 0);
      if (got <= 0) return;
      heard.append(part.data(), static_cast<std::size_t>(got));
    }
  });
  // Neither kind of socket is httplib's promise.
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  BufferedSocket socket(kLong);
  socket.attach(ends[0], nullptr);
  EXPECT_TRUE(socket.write(much));
  peer.join();
  EXPECT_EQ(heard, much);
}

TEST_F(BufferedSocketTest, SilenceAndTheEndAreToldApart) {
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  BufferedSocket socket(std::chrono::milliseconds(20));
  socket.attach(ends[0], nullptr);
  std::array<char, 1> out{};
  EXPECT_EQ(socket.read(out.data(), 1), -1);
  peer_says("z");
  ASSERT_EQ(::shutdown(ends[1], SHUT_WR), 0);
  EXPECT_EQ(socket.read(out.data(), 1), 1);
  EXPECT_EQ(socket.read(out.data(), 1), 0);
}

TEST_F(BufferedSocketTest, APeerThatIsGoneBreaksItUntilTheNextSocket) {
  BufferedSocket socket(kLong);
  socket.attach(ends[0], nullptr);
  peer_says("left");
  std::array<char, 1> out{};
  EXPECT_EQ(socket.read(out.data(), 1), 1);
  ASSERT_EQ(::shutdown(ends[1], SHUT_RDWR), 0);
  EXPECT_TRUE(socket.write("nobody reads this"));
  EXPECT_FALSE(socket.flush());
  EXPECT_TRUE(socket.broken());
  EXPECT_FALSE(socket.write("nor this"));

  std::array<int, 2> others{-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others.data()), 0);
  socket.attach(others[0], nullptr);
  EXPECT_FALSE(socket.broken());
  EXPECT_FALSE(socket.has_rest()) << "the rest was of another socket";
  EXPECT_TRUE(socket.write("again"));
  EXPECT_TRUE(socket.flush());
  std::array<char, 8> heard{};
  EXPECT_EQ(::recv(others[1], heard.data(), heard.size(), MSG_DONTWAIT), 5);
  for (const int end : others) ::close(end);
}

}  // namespace
}  // namespace snug
