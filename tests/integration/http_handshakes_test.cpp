// TLS handshakes are work for the thread that reads everybody's heads: it takes one step of one of
// them at a time, so that they delay no other connection.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/connection_loop.hpp"
#include "adapters/http/listening_socket.hpp"
#include "adapters/http/tls_context_reloader.hpp"
#include "integration/kube_support.hpp"

namespace snug::testing::http_handshakes_test {
namespace {

using std::chrono::seconds;

constexpr std::string_view kHead = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

/// A client's side of a connection, and of its handshake where it makes one.
class Client {
 public:
  explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void shake_hands(SSL_CTX* context) {
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), fd_);
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
  }
  void say(std::string_view text) {
    EXPECT_EQ(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
  }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  /// Whether the server has said something, or ended the connection, by then.
  [[nodiscard]] bool answered(std::chrono::milliseconds within) const {
    pollfd fd{fd_, POLLIN, 0};
    return ::poll(&fd, 1, static_cast<int>(within.count())) == 1;
  }
  [[nodiscard]] bool ended_without_a_word() const {
    std::array<char, 1> byte{};
    return answered(kPatience) && ::recv(fd_, byte.data(), byte.size(), 0) <= 0;
  }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int fd_;
  std::unique_ptr<SSL, Free> ssl_;
};

class HttpHandshakesTest : public ::testing::Test {
 protected:
  ~HttpHandshakesTest() override {
    if (loop_) loop_->stop();
  }

  /// The first connection that has a whole head stops the loop's thread until release_ is there.
  void serve(std::size_t open) {
    const Pem pem = authority_.issue("snug", "IP:127.0.0.1");
    keeper_ = std::make_unique<http::TlsContextReloader>(
        http::TlsFiles{folder_.write("crt", pem.certificate), folder_.write("key", pem.key), ""},
        nullptr);
    ASSERT_TRUE(keeper_->open());
    const auto listening = http::listen_on("127.0.0.1", 0, 100);
    ASSERT_TRUE(listening);
    port_ = listening->port;
    const http::TimerDurations never{
        .head = seconds{60}, .idle = seconds{60}, .refused = seconds{60}};
    loop_ = std::make_unique<http::ConnectionLoop>(
        http::ConnectionLoopOptions{.max_open = open, .backlog = 0, .timers = never}, clock_,
        http::ConnectionLoop::Hooks{
            .open_connection =
                [this](int fd) {
                  accepted_.change([](int& count) { ++count; });
                  return std::make_unique<http::Connection>(fd, keeper_->current().get(),
                                                            base::Limits{}, clock_);
                },
            .on_head =
                [this](http::ConnectionLoop::ConnectionPtr one) { head_came(std::move(one)); },
            .on_head_timeout = [](http::Connection&) {},
            .on_turn = [] { return false; }});
    ASSERT_TRUE(loop_->start(listening->fd));
  }
  void head_came(http::ConnectionLoop::ConnectionPtr connection) {
    with_heads_.push_back(std::move(connection));
    if (with_heads_.size() == 1) {
      stopped_.count_down();
      release_.wait();
      return;
    }
    for (const auto& client : shaking_) answered_before_ += client->answered({}) ? 1 : 0;
    second_.count_down();
  }
  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>(port_);
    ++connected_;
    EXPECT_TRUE(accepted_.wait([this](int count) { return count == connected_; }));
    return client;
  }
  std::unique_ptr<Client> connect_and_shake() {
    auto client = connect();
    client->shake_hands(client_context_.get());
    return client;
  }
  /// What begins a handshake. The server's part of it is the costly one.
  [[nodiscard]] std::string hello() const {
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(client_context_.get()), SSL_free);
    BIO* const out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
    EXPECT_NE(SSL_connect(ssl.get()), 1);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }

  base::ManualClock clock_;
  TempFolder folder_;
  const TestAuthority authority_{"servers"};
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context_{
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  std::unique_ptr<http::TlsContextReloader> keeper_;
  int port_ = 0;
  int connected_ = 0;
  Watched<int> accepted_;
  std::vector<std::unique_ptr<Client>> shaking_;
  std::latch stopped_{1};
  std::latch release_{1};
  std::latch second_{1};
  int answered_before_ = 0;
  std::vector<http::ConnectionLoop::ConnectionPtr>
      with_heads_;  // the loop's thread's, until it has ended
  std::unique_ptr<http::ConnectionLoop> loop_;
};

TEST_F(HttpHandshakesTest, AHeadWaitsForOneStepOfThemAtMost) {
  serve(100);
  const auto first = connect_and_shake();
  const auto second = connect_and_shake();
  for (int i = 0; i < 50; ++i) shaking_.push_back(connect());
  first->say(kHead);
  stopped_.wait();
  for (const auto& client : shaking_) client->send(hello());
  second->say(kHead);
  release_.count_down();
  second_.wait();
  EXPECT_LE(answered_before_, 1);
  for (const auto& client : shaking_) EXPECT_TRUE(client->answered(kPatience));
}

TEST_F(HttpHandshakesTest, NoneIsTakenOnlyToEndItsConnectionForANewOne) {
  serve(11);
  const auto first = connect_and_shake();
  for (int i = 0; i < 10; ++i) shaking_.push_back(connect());
  first->say(kHead);
  stopped_.wait();
  clock_.advance(std::chrono::milliseconds{1});  // those that come now are younger
  for (const auto& client : shaking_) client->send(hello());
  std::vector<std::unique_ptr<Client>> late;
  for (int i = 0; i < 5; ++i) late.push_back(std::make_unique<Client>(port_));
  release_.count_down();
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(shaking_[i]->ended_without_a_word()) << i;
  for (std::size_t i = 5; i < 10; ++i) EXPECT_TRUE(shaking_[i]->answered(kPatience)) << i;
}

}  // namespace
}  // namespace snug::testing::http_handshakes_test
