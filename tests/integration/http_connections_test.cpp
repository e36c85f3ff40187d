// Connections as they come: many at once, slow ones, broken ones, kept ones; and how a server ends
// while they are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"

namespace snug::testing::http_connections_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPatience = seconds{30};

std::string filter_body(int names) {
  std::string body = R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"NodeNames":[)";
  for (int i = 0; i < names; ++i) {
    body += (i == 0 ? "\"node-" : ",\"node-") + std::to_string(i) + '"';
  }
  return body + "]}";
}

TEST(HttpConnectionsTest, OneConnectionCarriesAThousandRequests) {
  ServedSnug served;
  HttpClient client{served.port()};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(
        client.post(i % 2 == 0 ? "/filter" : "/bind", i % 2 == 0 ? kGoodFilter : kGoodBind));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->status, 200) << i;
    ASSERT_FALSE(answer->headers.contains("connection")) << i;
  }
  EXPECT_EQ(served.understood, 1'000);
}

TEST(HttpConnectionsTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  ServedSnug served;
  HttpClient client{served.port()};
  client.send(post_text("/filter", kGoodFilter) + post_text("/bind", kGoodBind) +
              post_text("/filter", filter_body(3)));
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, kAllNodes);
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, R"({"Error":""})");
  EXPECT_THAT(client.receive().value_or(HttpAnswer{}).body, ::testing::HasSubstr("node-2"));
}

TEST(HttpConnectionsTest, ARequestMayComeByteByByte) {
  ServedSnug served;
  HttpClient client{served.port()};
  for (const char byte : post_text("/filter", kGoodFilter)) client.send({&byte, 1});
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, kAllNodes);
}

TEST(HttpConnectionsTest, LargeBodiesGoBothWaysUncompressed) {
  ServedSnug served;
  HttpClient client{served.port()};
  const std::string body = filter_body(50'000);
  client.send(
      "POST /filter HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\nContent-Type: Application/JSON "
      "; "
      "charset=utf-8\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_FALSE(answer->headers.contains("content-encoding"));
  EXPECT_THAT(answer->body, ::testing::HasSubstr(R"("node-49999"])"));
}

TEST(HttpConnectionsTest, AClientThatAsksMaySendItsBodyLater) {
  ServedSnug served;
  HttpClient client{served.port()};
  const std::string body{kGoodFilter};
  client.send(
      "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nExpect: "
      "100-continue\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, kAllNodes);
}

TEST(HttpConnectionsTest, NobodyIsToldToSendABodyThatIsRefused) {
  base::Limits limits;
  limits.max_body_bytes = 65'536;
  ServedSnug served{limits};
  for (const auto& [headers, status] : std::vector<std::pair<std::string, int>>{
           {"Content-Type: application/json\r\nContent-Length: 65537\r\n", 413},
           {"Content-Type: text/plain\r\nContent-Length: 5\r\n", 415}}) {
    HttpClient client{served.port()};
    client.send("POST /filter HTTP/1.1\r\nHost: t\r\nexpect: 100-Continue\r\n" + headers + "\r\n");
    EXPECT_EQ(client.receive().value_or(HttpAnswer{}).status, status);
    EXPECT_TRUE(client.wait_closed());
  }
}

TEST(HttpConnectionsTest, AClientMayAskForTheEndOfItsConnection) {
  ServedSnug served;
  HttpClient client{served.port()};
  client.send(
      "POST /bind HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nConnection: close\r\n"
      "Content-Length: " +
      std::to_string(std::string{kGoodBind}.size()) + "\r\n\r\n" + kGoodBind);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.at("connection"), "close");
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpConnectionsTest, AHundredConnectionsAreServedAtOnce) {
  constexpr int kClients = 100;
  ServedSnug served;
  std::latch all_inside{kClients};
  served.meanwhile = [&] { all_inside.arrive_and_wait(); };
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<HttpClient>(served.port()));
    ASSERT_TRUE(clients.back()->post("/filter", kGoodFilter));
  }
  for (const auto& client : clients) {
    EXPECT_EQ(client->receive().value_or(HttpAnswer{}).body, kAllNodes);
  }
}

TEST(HttpConnectionsTest, BeyondThreadsAndQueueAConnectionIsClosedAtOnce) {
  constexpr int kThreads = 8;
  constexpr int kQueued = 8;
  base::Limits limits;
  limits.max_connections = kThreads;
  limits.max_queued_connections = kQueued;
  ServedSnug served{limits};
  std::latch inside{kThreads};
  std::latch release{1};
  std::atomic<int> calls{0};
  served.meanwhile = [&] {
    if (calls++ < kThreads) inside.count_down();
    release.wait();
  };
  std::vector<std::unique_ptr<HttpClient>> clients;
  const auto connect = [&](int count) {
    for (int i = 0; i < count; ++i) {
      clients.push_back(std::make_unique<HttpClient>(served.port()));
      ASSERT_TRUE(clients.back()->post("/filter", kGoodFilter));
    }
  };
  connect(kThreads);
  inside.wait();
  connect(kQueued);
  HttpClient one_too_many{served.port()};
  EXPECT_TRUE(one_too_many.wait_closed());
  release.count_down();
  // No client hangs up: the server ends connections while others wait for their threads.
  for (const auto& client : clients) {
    EXPECT_EQ(client->receive().value_or(HttpAnswer{}).body, kAllNodes);
  }
}

/// Connections that hold every thread of the port; each has had a reply if it asked for one.
std::vector<std::unique_ptr<HttpClient>> hold(int port, int count, const std::string& request) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    if (request.empty()) continue;
    clients.back()->send(request);
    EXPECT_EQ(clients.back()->receive().value_or(HttpAnswer{}).status, 200);
  }
  return clients;
}

/// How many still get a reply to another request.
int count_served(const std::vector<std::unique_ptr<HttpClient>>& clients,
                 const std::string& request) {
  int served = 0;
  for (const auto& client : clients) {
    client->send(request);
    served += client->receive() ? 1 : 0;
  }
  return served;
}

constexpr const char* kLivez = "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n";

/// Idle connections would be closed in an hour, silent ones in a minute; 16 may be open.
base::Limits patient_and_narrow() {
  base::Limits limits;
  limits.max_connections = 8;
  limits.max_admin_connections = 8;
  limits.keep_alive_ms = 3'600'000;
  limits.admin_keep_alive_ms = 3'600'000;
  limits.head_ms = 60'000;
  limits.max_queued_connections = 8;
  return limits;
}

TEST(HttpConnectionsTest, IdleConnectionsCostNoThreadOnBothPorts) {
  base::Limits limits = patient_and_narrow();
  limits.max_queued_connections = 100;
  ServedSnug served{limits};
  const std::string bind = post_text("/bind", kGoodBind);
  for (const auto& [port, request] : std::vector<std::pair<int, std::string>>{
           {served.admin_port(), kLivez}, {served.port(), bind}}) {
    const auto idle = hold(port, 100, request);
    EXPECT_EQ(count_served(idle, request), 100);
  }
}

TEST(HttpConnectionsTest, BeyondAllThatMayBeOpenOneIdleConnectionGoes) {
  ServedSnug served{patient_and_narrow()};
  const std::string bind = post_text("/bind", kGoodBind);
  for (const auto& [port, request] : std::vector<std::pair<int, std::string>>{
           {served.admin_port(), kLivez}, {served.port(), bind}}) {
    const auto idle = hold(port, 16, request);
    // Whose reply has left this very moment makes no room yet.
    std::unique_ptr<HttpClient> another;
    do {
      another = std::make_unique<HttpClient>(port);
      another->send(request);
    } while (!another->receive());
    EXPECT_EQ(count_served(idle, request), 15) << "one alone had to go";
  }
}

TEST(HttpConnectionsTest, SilentConnectionsGoBeforeIdleOnesOnBothPorts) {
  ServedSnug served{patient_and_narrow()};
  const std::string bind = post_text("/bind", kGoodBind);
  for (const auto& [port, request] : std::vector<std::pair<int, std::string>>{
           {served.admin_port(), kLivez}, {served.port(), bind}}) {
    const auto idle = hold(port, 8, request);
    const auto silent = hold(port, 40, "");
    EXPECT_EQ(count_served(idle, request), 8);
  }
}

base::Limits impatient() {
  base::Limits limits;
  limits.head_ms = 50;
  limits.request_silence_ms = 50;
  limits.request_ms = 300;
  return limits;
}

TEST(HttpConnectionsTest, AClientThatFallsSilentIsToldAndDropped) {
  ServedSnug served{impatient()};
  for (const std::string part : {"POST /filter HTTP/1.1\r\nHost: t",
                                 "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: "
                                 "application/json\r\nContent-Length: 10\r\n\r\n{"}) {
    HttpClient client{served.port()};
    client.send(part);
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << part;
    EXPECT_EQ(answer->status, 408) << part;
    EXPECT_TRUE(client.wait_closed()) << part;
  }
  EXPECT_EQ(served.understood, 0);
}

TEST(HttpConnectionsTest, AClientThatTricklesIsDroppedInTheEnd) {
  ServedSnug served{impatient()};
  HttpClient client{served.port()};
  client.send(
      "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
      "Content-Length: 60000\r\n\r\n");
  int sent = 0;
  while (!client.something_came() && sent < 59'999 && client.send(" ")) ++sent;
  const auto answer = client.receive();
  ASSERT_TRUE(answer) << sent;
  EXPECT_EQ(answer->status, 408);
  EXPECT_EQ(served.understood, 0);
}

TEST(HttpConnectionsTest, AnIdleConnectionIsClosedInTheEnd) {
  base::Limits limits;
  limits.keep_alive_ms = 100;
  ServedSnug served{limits};
  HttpClient client{served.port()};
  client.post("/bind", kGoodBind);
  EXPECT_TRUE(client.receive());
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpConnectionsTest, AConnectionThatNeverSaysAnythingIsClosedSoon) {
  base::Limits limits;
  limits.head_ms = 100;
  ServedSnug served{limits};
  HttpClient client{served.port()};
  EXPECT_TRUE(client.wait_closed()) << "the keep-alive time is two minutes";
}

TEST(HttpConnectionsTest, AClientThatDiesInMidBodyChangesNothing) {
  ServedSnug served;
  for (int i = 0; i < 20; ++i) {
    HttpClient client{served.port()};
    client.send(
        "POST /bind HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000\r\n\r\n{\"PodName\":");
    client.close();
  }
  HttpClient client{served.port()};
  client.post("/bind", kGoodBind);
  EXPECT_EQ(client.receive().value_or(HttpAnswer{}).status, 200);
  EXPECT_EQ(served.understood, 1);
  client.close();
  EXPECT_TRUE(served.server().drain(kPatience)) << "no connection is left behind";
}

TEST(HttpConnectionsTest, AClientThatNeverReadsItsReplyIsDropped) {
  base::Limits limits = impatient();
  ServedSnug served{limits};
  HttpClient client{served.port()};
  const std::string request = post_text("/filter", filter_body(50'000));
  // The replies fill every buffer on the way; then the server can write no more.
  while (client.send(request)) {
  }
  client.close();
  EXPECT_TRUE(served.server().drain(kPatience));
}

TEST(HttpConnectionsTest, StopEndsIdleConnectionsAtOnce) {
  ServedSnug served;
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<HttpClient>(served.port()));
    clients.back()->post("/bind", kGoodBind);
    EXPECT_TRUE(clients.back()->receive());
  }
  // The keep-alive time is two minutes; a server that waited for it would fail the test's limit.
  served.server().stop();
  for (const auto& client : clients) EXPECT_TRUE(client->wait_closed());
  EXPECT_FALSE(HttpClient{served.port()}.connected());
}

TEST(HttpConnectionsTest, DrainWaitsForTheRequestInFlight) {
  ServedSnug served;
  std::latch inside{1};
  std::latch release{1};
  served.meanwhile = [&] {
    inside.count_down();
    release.wait();
  };
  HttpClient idle{served.port()};
  HttpClient busy{served.port()};
  busy.post("/bind", kGoodBind);
  inside.wait();
  std::future<bool> drained =
      std::async(std::launch::async, [&] { return served.server().drain(kPatience); });
  // Idle connections go first; so the drain has begun, and it waits.
  EXPECT_TRUE(idle.wait_closed());
  EXPECT_EQ(drained.wait_for(seconds{0}), std::future_status::timeout);
  release.count_down();
  const auto answer = busy.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, R"({"Error":""})");
  EXPECT_EQ(answer->headers.at("connection"), "close");
  EXPECT_TRUE(drained.get());
  EXPECT_FALSE(HttpClient{served.port()}.connected());
}

TEST(HttpConnectionsTest, DrainGivesUpInTheEnd) {
  ServedSnug served;
  std::latch inside{1};
  std::latch release{1};
  served.meanwhile = [&] {
    inside.count_down();
    release.wait();
  };
  HttpClient busy{served.port()};
  busy.post("/bind", kGoodBind);
  inside.wait();
  EXPECT_FALSE(served.server().drain(milliseconds{1}));
  release.count_down();
  served.server().stop();
}

}  // namespace
}  // namespace snug::testing::http_connections_test
