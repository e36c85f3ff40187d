// A client that sends TLS records without data keeps no thread.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "adapters/http/connection.hpp"
#include "adapters/http/tls_context_reloader.hpp"
#include "snug/adapters/http/certificate_maker.hpp"
#include "snug/base/clock.hpp"

namespace snug::connection_tls_test {
namespace {

using std::chrono::milliseconds;
using Step = http::Connection::Step;

constexpr std::string_view kHead = "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\n";
/// Few enough that the socket holds them all.
constexpr int kKeyUpdates = 50;

std::shared_ptr<const admission::ServerIdentity> make_identity() {
  http::OpensslCertificateMaker maker({"snug"}, {});
  const auto now = base::SystemClock{}.now();
  return std::make_shared<const admission::ServerIdentity>(
      maker.make({.from = now - std::chrono::hours(1), .until = now + std::chrono::hours(1)})
          .value());
}

class ConnectionTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    for (const int end : ends_) ASSERT_EQ(::fcntl(end, F_SETFL, O_NONBLOCK), 0);
    ASSERT_TRUE(reloader_.open());
    server_context_ = reloader_.current();
    server_ =
        std::make_unique<http::Connection>(ends_[0], server_context_.get(), base::Limits{}, clock_);
    client_.reset(SSL_new(client_context_.get()));
    ASSERT_EQ(SSL_set_fd(client_.get(), ends_[1]), 1);
    for (int turn = 0; SSL_connect(client_.get()) != 1; ++turn) {
      ASSERT_LT(turn, 100);
      ASSERT_NE(server_->advance(), Step::kEnd);
    }
    ASSERT_EQ(SSL_version(client_.get()), TLS1_3_VERSION);
    ASSERT_EQ(server_->advance(), Step::kWaitRead);
  }
  void TearDown() override {
    client_.reset();
    server_.reset();
    ::close(ends_[1]);
  }

  void send_key_updates() {
    for (int i = 0; i < kKeyUpdates; ++i) {
      ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(client_.get()), 1);
    }
  }
  void client_sends(std::string_view bytes) {
    ASSERT_EQ(SSL_write(client_.get(), bytes.data(), static_cast<int>(bytes.size())),
              std::ssize(bytes));
  }
  /// The bytes that the server has not read.
  int unread_bytes() const {
    int bytes = 0;
    EXPECT_EQ(::ioctl(ends_[0], FIONREAD, &bytes), 0);
    return bytes;
  }

  base::ManualClock clock_;
  std::array<int, 2> ends_{-1, -1};
  http::TlsContextReloader reloader_{[identity = make_identity()] { return identity; }, {}};
  std::shared_ptr<SSL_CTX> server_context_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> client_context_{
      SSL_CTX_new(TLS_client_method()), &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> client_{nullptr, &SSL_free};
  std::unique_ptr<http::Connection> server_;
};

TEST_F(ConnectionTlsTest, ATurnReadsOneRecordWithoutData) {
  send_key_updates();
  const int all_bytes = unread_bytes();
  ASSERT_GT(all_bytes, kKeyUpdates);
  EXPECT_EQ(server_->advance(), Step::kWaitRead);
  EXPECT_EQ(unread_bytes(), all_bytes - all_bytes / kKeyUpdates);
  client_sends(kHead);
  int turns = 0;
  while (server_->advance() == Step::kWaitRead && turns <= kKeyUpdates) ++turns;
  EXPECT_EQ(server_->head(), kHead);
}

TEST_F(ConnectionTlsTest, ABodyEndsAtItsDeadlineThoughRecordsArrive) {
  client_sends(kHead);
  ASSERT_EQ(server_->advance(), Step::kHead);
  server_->begin_request(true);
  server_->begin_body();
  send_key_updates();
  clock_.advance(milliseconds{base::Limits{}.request_ms});
  std::string body;
  EXPECT_FALSE(server_->read_body(4, body));
  EXPECT_TRUE(server_->timed_out());
  EXPECT_GT(unread_bytes(), 0);
}

}  // namespace
}  // namespace snug::connection_tls_test
