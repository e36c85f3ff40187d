#include "adapters/kube/buffered_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "integration/kube_support.hpp"

namespace snug::testing::buffered_socket_test {
namespace {

constexpr std::chrono::seconds kLong{20};

using ContextPtr = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using SslPtr = std::unique_ptr<SSL, decltype(&SSL_free)>;

ContextPtr server_context() {
  const Pem pem = TestAuthority("ca").issue("api", "DNS:api.test");
  const TempFolder folder;
  ContextPtr context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_use_certificate_file(
                context.get(), folder.write("cert", pem.certificate).c_str(), SSL_FILETYPE_PEM),
            1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), folder.write("key", pem.key).c_str(),
                                        SSL_FILETYPE_PEM),
            1);
  return context;
}

/// Both ends of a connection that is open, with TLS or without.
class Ends {
 public:
  explicit Ends(bool tls) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_.data()), 0);
    if (!tls) return;
    client_.reset(SSL_new(client_context_.get()));
    server_.reset(SSL_new(server_context_.get()));
    SSL_set_fd(client_.get(), fds_[0]);
    SSL_set_fd(server_.get(), fds_[1]);
    std::thread server([this] { EXPECT_EQ(SSL_accept(server_.get()), 1); });
    EXPECT_EQ(SSL_connect(client_.get()), 1);
    server.join();
  }
  ~Ends() {
    for (const int fd : fds_) ::close(fd);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  [[nodiscard]] int fd() const { return fds_[0]; }
  [[nodiscard]] SSL* ssl() const { return client_.get(); }

  void say(std::string_view text) const {
    const auto size = static_cast<ssize_t>(text.size());
    const ssize_t said = server_ == nullptr
                             ? ::send(fds_[1], text.data(), text.size(), MSG_NOSIGNAL)
                             : SSL_write(server_.get(), text.data(), static_cast<int>(size));
    ASSERT_EQ(said, size);
  }
  /// The next thing to come; empty: the end.
  [[nodiscard]] std::string hear() const {
    std::string text(65'536, '\0');
    const ssize_t got = server_ == nullptr
                            ? ::recv(fds_[1], text.data(), text.size(), 0)
                            : SSL_read(server_.get(), text.data(), static_cast<int>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }
  [[nodiscard]] bool has_heard_anything() const {
    char byte = 0;
    return ::recv(fds_[1], &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
  }
  void end() const {
    if (server_ != nullptr) SSL_shutdown(server_.get());
    cut();
  }
  /// As when the peer is killed.
  void cut() const { ASSERT_EQ(::shutdown(fds_[1], SHUT_RDWR), 0); }

 private:
  std::array<int, 2> fds_{-1, -1};
  ContextPtr client_context_{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  ContextPtr server_context_ = server_context();
  SslPtr client_{nullptr, &SSL_free};
  SslPtr server_{nullptr, &SSL_free};
};

class BufferedSocketTest : public ::testing::TestWithParam<bool> {
 protected:
  BufferedSocketTest() {
    std::signal(SIGPIPE, SIG_IGN);  // as ApiConnection does
    socket.attach(ends.fd(), ends.ssl());
  }

  [[nodiscard]] std::string read(std::size_t size) {
    std::string text(size, '\0');
    const ssize_t got = socket.read(text.data(), size);
    if (got < 0) return "error";
    text.resize(static_cast<std::size_t>(got));
    return text;
  }

  Ends ends{GetParam()};
  BufferedSocket socket{kLong};
};

INSTANTIATE_TEST_SUITE_P(Both, BufferedSocketTest, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "Tls" : "Plain"); });

TEST_P(BufferedSocketTest, WhatHasComeIsReadOnceAndGivenInAnyParts) {
  EXPECT_TRUE(socket.begin_request());
  ends.say("abcdef");
  EXPECT_EQ(read(1), "a");
  EXPECT_TRUE(socket.has_rest());
  char byte = 0;
  EXPECT_EQ(::recv(ends.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1) << "all was taken";
  EXPECT_EQ(read(4), "bcde");
  EXPECT_EQ(read(4), "f");
  EXPECT_FALSE(socket.has_rest());
}

TEST_P(BufferedSocketTest, WritesLeaveTogetherAndBeforeARead) {
  EXPECT_TRUE(socket.begin_request());
  EXPECT_TRUE(socket.write("head "));
  EXPECT_TRUE(socket.write("body"));
  EXPECT_FALSE(ends.has_heard_anything());
  EXPECT_FALSE(socket.sent_any());
  ends.say("x");
  EXPECT_EQ(read(1), "x");
  EXPECT_EQ(ends.hear(), "head body");
  EXPECT_TRUE(socket.sent_any());
  EXPECT_TRUE(socket.begin_request());
  EXPECT_FALSE(socket.sent_any());
  EXPECT_TRUE(socket.write("more"));
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(ends.hear(), "more");
}

TEST_P(BufferedSocketTest, MuchIsSentWithoutWaitingForARead) {
  const std::string much(3'000'000, 'y');
  std::string heard;
  std::thread peer([&] {
    while (heard.size() < much.size()) {
      const std::string part = ends.hear();
      if (part.empty()) return;
      heard += part;
    }
  });
  EXPECT_TRUE(socket.write(much));
  peer.join();
  EXPECT_EQ(heard, much);
}

TEST_P(BufferedSocketTest, APeerThatSaysNothingIsGivenUp) {
  BufferedSocket impatient(std::chrono::milliseconds(20));
  impatient.attach(ends.fd(), ends.ssl());
  EXPECT_TRUE(impatient.begin_request());
  char byte = 0;
  EXPECT_EQ(impatient.read(&byte, 1), -1);
  ends.say("z");
  EXPECT_EQ(impatient.read(&byte, 1), 1);
}

TEST_P(BufferedSocketTest, APeerThatTakesNothingIsGivenUp) {
  BufferedSocket impatient(std::chrono::milliseconds(20));
  impatient.attach(ends.fd(), ends.ssl());
  EXPECT_FALSE(impatient.write(std::string(8'000'000, 'y')));
  EXPECT_TRUE(impatient.broken());
}

TEST_P(BufferedSocketTest, TheEndComesBehindWhatWasSaid) {
  EXPECT_TRUE(socket.begin_request());
  ends.say("bye");
  ends.end();
  EXPECT_EQ(read(9), "bye");
  EXPECT_EQ(read(9), "");
}

TEST_P(BufferedSocketTest, AConnectionThatIsCutIsAnEndOnlyWhereNothingSaysSo) {
  ends.say("abc");
  ends.cut();
  EXPECT_EQ(read(9), "abc");
  EXPECT_EQ(read(9), GetParam() ? "error" : "");
}

TEST_P(BufferedSocketTest, NoRequestBeginsWhereThePeerHasEndedOrSpokenUnasked) {
  EXPECT_TRUE(socket.begin_request());
  ends.say("unasked");
  EXPECT_FALSE(socket.begin_request());

  Ends ended(GetParam());
  socket.attach(ended.fd(), ended.ssl());
  EXPECT_TRUE(socket.begin_request());
  ended.end();
  EXPECT_FALSE(socket.begin_request());

  Ends cut(GetParam());
  socket.attach(cut.fd(), cut.ssl());
  cut.cut();
  EXPECT_FALSE(socket.begin_request());

  Ends rest(GetParam());
  socket.attach(rest.fd(), rest.ssl());
  rest.say("ab");
  EXPECT_EQ(read(1), "a");
  EXPECT_FALSE(socket.begin_request());
}

TEST_P(BufferedSocketTest, APeerThatIsGoneBreaksItUntilTheNextSocketAndNothingHasLeft) {
  EXPECT_TRUE(socket.begin_request());
  ends.cut();
  EXPECT_TRUE(socket.write("nobody reads this"));
  EXPECT_FALSE(socket.flush());
  EXPECT_TRUE(socket.broken());
  EXPECT_FALSE(socket.sent_any());
  EXPECT_FALSE(socket.write("nor this"));
  EXPECT_FALSE(socket.begin_request());

  const Ends others(GetParam());
  socket.attach(others.fd(), others.ssl());
  EXPECT_TRUE(socket.begin_request());
  EXPECT_TRUE(socket.write("again"));
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(others.hear(), "again");
}

}  // namespace
}  // namespace snug::testing::buffered_socket_test
