// Slow clients keep nobody out: neither with heads, nor with bodies, nor by holding every thread.
// No time passes but what a test lets pass, so that no deadline helps where it is not awaited.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"
#include "integration/kube_support.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/base/clock.hpp"

namespace snug::testing::http_slow_clients_test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLivez = "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n";
constexpr const char* kHalfHead = "GET /livez HTTP/1.1\r\nHost: t\r\nX: ";

using Clients = std::vector<std::unique_ptr<HttpClient>>;

/// As few threads as may be.
base::Limits narrow() {
  base::Limits limits;
  limits.max_connections = 8;
  limits.max_admin_connections = 2;
  return limits;
}

class HttpSlowClientsTest : public ::testing::Test {
 protected:
  explicit HttpSlowClientsTest(const base::Limits& limits = narrow())
      : served_(limits, {.clock = &clock_}) {}

  void connect(Clients& clients, int port, const std::string& bytes) {
    clients.push_back(std::make_unique<HttpClient>(port));
    EXPECT_TRUE(clients.back()->send(bytes));
  }
  void expect_both_ports_answer() const {
    EXPECT_EQ(ServedSnug::ask(served_.admin_port(), kLivez).status, 200);
    EXPECT_EQ(ServedSnug::ask(served_.port(), post_text("/filter", kGoodFilter)).body, kAllNodes);
  }
  /// A filter whose body, of so many bytes, the server has begun to read.
  std::unique_ptr<HttpClient> begin_body(std::size_t bytes) const {
    auto client = std::make_unique<HttpClient>(served_.port());
    client->send(
        "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
        "Expect: 100-continue\r\nContent-Length: " +
        std::to_string(bytes) + "\r\n\r\n");
    EXPECT_EQ(client->receive().value_or(HttpAnswer{}).status, 100);
    return client;
  }
  static std::string padded_filter(std::size_t bytes) {
    return kGoodFilter + std::string(bytes - std::string{kGoodFilter}.size(), ' ');
  }

  base::ManualClock clock_;
  ServedSnug served_;
};

TEST_F(HttpSlowClientsTest, HeadsThatDripTakeNoThread) {
  Clients slow;
  for (int i = 0; i < 100; ++i) {
    connect(slow, served_.admin_port(), kHalfHead);
    connect(slow, served_.port(), kHalfHead);
  }
  for (int round = 0; round < 5; ++round) {
    expect_both_ports_answer();
    for (const auto& client : slow) EXPECT_TRUE(client->send("x"));
  }
  for (const auto& client : slow) client->send("\r\n\r\n");
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i]->receive().value_or(HttpAnswer{}).status, i % 2 == 0 ? 200 : 404) << i;
  }
}

TEST_F(HttpSlowClientsTest, AHeadHasTwoSecondsInAllFromTheAccept) {
  for (const int port : {served_.admin_port(), served_.port()}) {
    Clients slow;
    connect(slow, port, kHalfHead);
    connect(slow, port, kHalfHead);
    connect(slow, port, "");
    expect_both_ports_answer();  // by then they have been accepted
    for (int i = 0; i < 3; ++i) {
      clock_.advance(milliseconds{500});
      slow[1]->send("x");
      expect_both_ports_answer();
    }
    clock_.advance(milliseconds{499});
    slow[0]->send("\r\n\r\n");
    EXPECT_NE(slow[0]->receive().value_or(HttpAnswer{}).status, 408) << "it came in time";
    clock_.advance(milliseconds{1});
    expect_both_ports_answer();
    const auto late = slow[1]->receive();
    ASSERT_TRUE(late);
    EXPECT_EQ(late->status, 408);
    EXPECT_THAT(late->body, ::testing::HasSubstr("did not arrive in time"));
    EXPECT_TRUE(slow[1]->wait_closed());
    EXPECT_TRUE(slow[2]->wait_closed()) << "who says nothing is told nothing";
  }
}

TEST_F(HttpSlowClientsTest, TheNextHeadOfAConnectionHasATimeOfItsOwn) {
  HttpClient client{served_.port()};
  client.post("/bind", kGoodBind);
  EXPECT_TRUE(client.receive());
  clock_.advance(std::chrono::seconds{90});
  client.post("/bind", kGoodBind);
  ASSERT_TRUE(client.receive()) << "kube-scheduler keeps connections for 90 s";
  client.send("POST /bind HTTP/1.1\r\n");
  while (!client.something_came()) {
    clock_.advance(std::chrono::seconds{1});
    expect_both_ports_answer();
  }
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).status, 408);
}

TEST_F(HttpSlowClientsTest, TheSlowestBodyGoesForARequestThatWaits) {
  // Far more than all buffers on the way hold, so that the server has read a large part of it.
  constexpr std::size_t kLarge = 10'000'000;
  constexpr std::size_t kSmall = 1'000;
  const auto fast = begin_body(kLarge);
  const std::string large = padded_filter(kLarge);
  ASSERT_TRUE(fast->send(large.substr(0, kLarge - 1)));
  Clients slow;
  for (int i = 0; i < 7; ++i) {
    slow.push_back(begin_body(kSmall));
    ASSERT_TRUE(slow.back()->send(padded_filter(kSmall).substr(0, 999)));
  }
  clock_.advance(milliseconds{1'000});
  EXPECT_EQ(ServedSnug::ask(served_.port(), post_text("/bind", kGoodBind)).body, R"({"Error":""})");
  EXPECT_TRUE(fast->send(" "));
  EXPECT_EQ(fast->receive().value_or(HttpAnswer{}).body, kAllNodes);
  int answered = 0;
  for (const auto& client : slow) {
    client->send(" ");
    answered += client->receive() ? 1 : 0;
  }
  EXPECT_EQ(answered, 6) << "one had to go";
}

class HttpSlowLargeBodyTest : public HttpSlowClientsTest {
 protected:
  HttpSlowLargeBodyTest() : HttpSlowClientsTest(limits()) {}
  static base::Limits limits() {
    base::Limits limits;
    limits.max_body_bytes_at_once = 1'000'000;
    limits.body_wait_ms = 60'000;
    return limits;
  }
};

TEST_F(HttpSlowLargeBodyTest, ABodyThatDripsGivesItsRoomToOneThatWaits) {
  const auto slow = begin_body(900'000);
  clock_.advance(milliseconds{1'000});
  EXPECT_EQ(ServedSnug::ask(served_.port(), post_text("/filter", padded_filter(600'000))).body,
            kAllNodes);
  EXPECT_TRUE(slow->wait_closed());
}

TEST_F(HttpSlowLargeBodyTest, ABodyThatWaitedForRoomHasTimeFromThenOnThoughOthersWait) {
  std::latch inside{1};
  std::latch release{1};
  std::atomic<int> calls{0};
  served_.meanwhile = [&] {
    if (calls++ > 0) return;
    inside.count_down();
    release.wait();
  };
  HttpClient first{served_.port()};
  first.post("/filter", padded_filter(900'000));
  inside.wait();
  // Two that find no room; whichever gets it first, the other goes on waiting.
  const std::string head =
      "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 600000\r\n\r\n";
  Clients waiting;
  for (int i = 0; i < 2; ++i) connect(waiting, served_.port(), head);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ServedSnug::ask(served_.port(), post_text("/bind", kGoodBind)).status, 200);
  }
  clock_.advance(milliseconds{1'000});
  release.count_down();
  EXPECT_EQ(first.receive().value_or(HttpAnswer{}).status, 200);
  while (!waiting[0]->something_came()) waiting[0].swap(waiting[1]);
  EXPECT_EQ(waiting[0]->receive().value_or(HttpAnswer{}).status, 100);
  // Each is a turn of the loop, which looks for clients that are slow.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ServedSnug::ask(served_.port(), post_text("/bind", kGoodBind)).status, 200);
  }
  for (const auto& client : waiting) {
    if (client != waiting[0]) {
      EXPECT_EQ(client->receive().value_or(HttpAnswer{}).status, 100);
    }
    EXPECT_TRUE(client->send(padded_filter(600'000)));
    EXPECT_EQ(client->receive().value_or(HttpAnswer{}).body, kAllNodes);
  }
}

TEST(HttpProbesTest, TheyAreAnsweredWhileEveryThreadIsTaken) {
  std::latch release{1};
  const auto busy = [&](const http::AdminRequest&) {
    release.wait();
    return http::AdminReply{};
  };
  const auto well = [](const http::AdminRequest&) { return http::AdminReply{}; };
  http::AdminServer server{
      {{"GET", "/livez", "", well}, {"GET", "/readyz", "", well}, {"GET", "/v1/busy", "", busy}},
      nullptr,
      {},
      narrow()};
  ASSERT_TRUE(server.start());
  Clients taken;
  for (int i = 0; i < 20; ++i) {
    taken.push_back(std::make_unique<HttpClient>(server.port()));
    taken.back()->send("GET /v1/busy HTTP/1.1\r\nHost: t\r\n\r\n");
  }
  for (const std::string probe :
       {"GET /livez", "GET /readyz", "GET /readyz?verbose", "HEAD /livez"}) {
    HttpClient client{server.port()};
    client.send(probe + " HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_EQ(client.receive(probe.starts_with("HEAD")).value_or(HttpAnswer{}).status, 200)
        << probe;
  }
  release.count_down();
  for (const auto& client : taken) {
    EXPECT_EQ(client->receive().value_or(HttpAnswer{}).status, 200);
  }
}

/// A TLS handshake that stops in its midst costs no thread either.
TEST(HttpSlowHandshakeTest, HandshakesThatDripTakeNoThread) {
  base::ManualClock clock;
  TempFolder folder;
  const TestAuthority authority{"servers"};
  const Pem pem = authority.issue("snug", "IP:127.0.0.1");
  ServedSnug served{narrow(),
                    {.tls = http::TlsFiles{folder.write("crt", pem.certificate),
                                           folder.write("key", pem.key), ""},
                     .clock = &clock}};
  const std::string hello_begins("\x16\x03\x01\x02\x00\x01\x00", 7);
  Clients slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<HttpClient>(served.port()));
    EXPECT_TRUE(slow.back()->send(hello_begins));
  }
  const auto bind = [&] {
    httplib::SSLClient client("127.0.0.1", served.port());
    client.enable_server_certificate_verification(false);
    const auto result = client.Post("/bind", kGoodBind, "application/json");
    return result ? result->status : 0;
  };
  EXPECT_EQ(bind(), 200);
  clock.advance(milliseconds{2'000});
  EXPECT_EQ(bind(), 200);
  for (const auto& client : slow) EXPECT_TRUE(client->wait_closed());
}

}  // namespace
}  // namespace snug::testing::http_slow_clients_test
