// From when on a connection's client counts as slow, and until when it may send.
#include "adapters/http/connection.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "snug/base/clock.hpp"

namespace snug::connection_test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kHead = "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\n";

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() : ends_(pair()), connection_(ends_[0], nullptr, base::Limits{}, clock_) {}
  ~ConnectionTest() override { ::close(ends_[1]); }

  static std::array<int, 2> pair() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    EXPECT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    return ends;
  }
  void client_sends(std::string_view bytes) const {
    ASSERT_EQ(::write(ends_[1], bytes.data(), bytes.size()), std::ssize(bytes));
  }
  /// A request whose head has come, and whose body has waited so long for room.
  void begin_body_after(milliseconds wait) {
    client_sends(kHead);
    ASSERT_EQ(connection_.advance(), http::Connection::Step::kHead);
    connection_.begin_request(true);
    clock_.advance(wait);
    connection_.begin_body();
  }

  base::ManualClock clock_;
  std::array<int, 2> ends_;
  http::Connection connection_;
};

TEST_F(ConnectionTest, ABodyThatWaitedForRoomHasItsTimeFromThenOn) {
  begin_body_after(milliseconds{1'000});
  EXPECT_EQ(connection_.transfer().started, clock_.now());
  client_sends("body");
  std::string body;
  EXPECT_TRUE(connection_.read_body(4, body));
  EXPECT_EQ(body, "body");
  EXPECT_EQ(connection_.transfer().bytes, body.size());
}

TEST_F(ConnectionTest, TheWaitForRoomCountsForNoneOfTheBodysTime) {
  begin_body_after(milliseconds{base::Limits{}.request_ms});
  std::atomic<bool> ended{false};
  std::jthread client([&] {
    while (!connection_.transfer().is_blocked && !ended) std::this_thread::yield();
    client_sends("body");
  });
  std::string body;
  EXPECT_TRUE(connection_.read_body(4, body));
  EXPECT_EQ(body, "body");
  EXPECT_FALSE(connection_.timed_out());
  ended = true;
}

}  // namespace
}  // namespace snug::connection_test
