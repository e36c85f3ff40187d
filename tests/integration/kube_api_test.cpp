#include "snug/adapters/kube/kube_api.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <set>

#include "integration/kube_support.hpp"
#include "snug/codec/proto_wire.hpp"
#include "support/kube_proto.hpp"

namespace snug::kube_api_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

model::Binding binding() {
  return {"ns", "pod-1", "uid-1", "node-1", {{"snug.dev/reservation", R"({"version":1})"}}};
}

class KubeApiTest : public ::testing::Test {
 protected:
  [[nodiscard]] int count(const std::string& what) {
    return bench.metrics.counts.get().requests[what];
  }

  Bench bench;
  ScriptedApi server;
};

TEST_F(KubeApiTest, BindIsOnePostWithUidAnnotationsAndNode) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  const auto seen = server.seen("bind");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].target, "/api/v1/namespaces/ns/pods/pod-1/binding?timeout=" +
                                std::to_string(bench.options.api_timeout.count()) + "ms");
  EXPECT_EQ(seen[0].content_type, codec::kProtobufType);
  EXPECT_EQ(seen[0].host, "127.0.0.1:" + std::to_string(server.port()));
  const json object = json::parse(R"({
      "metadata": {"name": "pod-1", "namespace": "ns", "uid": "uid-1",
                   "annotations": {"snug.dev/reservation": "{\"version\":1}"}},
      "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"}})");
  EXPECT_EQ(seen[0].body,
            proto::short_envelope("Binding", proto::Writer{}.message(object, "Binding")));
  EXPECT_EQ(count("bind ok"), 1);
}

TEST_F(KubeApiTest, ASuccessWhoseTextIsCutIsASuccess) {
  ScriptedReply reply;
  reply.status = 201;
  reply.pieces = {R"({"kind":)"};
  reply.end = ScriptedReply::End::kCut;
  server.script("bind", reply);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  EXPECT_TRUE(api.bind(binding()));
}

TEST_F(KubeApiTest, AReplyWithTooLongAHeadIsNoAnswer) {
  for (const int headers : {10, 20}) {
    ScriptedReply reply;
    reply.status = 201;
    for (int i = 0; i < headers; ++i)
      reply.headers["X-" + std::to_string(i)] = std::string(5000, 'x');
    server.script("bind", reply);
  }
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  EXPECT_TRUE(api.bind(binding()));
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
  EXPECT_TRUE(api.bind(binding())) << "over another connection";
}

TEST(KubeApiFaultTest, AFirstLineThatIsTooLongIsNoAnswer) {
  Bench bench;
  const BadServer server(BadServer::Manner::kLongFirstLine);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
}

TEST_F(KubeApiTest, AnAnswerBeforeTheAnswerIsNone) {
  ScriptedReply early;
  early.status = 103;
  server.script("bind", early);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
  EXPECT_TRUE(api.bind(binding()));
  const auto seen = server.seen("bind");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NE(seen[0].port, seen[1].port);
}

TEST_F(KubeApiTest, NamesThatCouldLeaveThePathNeverReachTheServer) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const char* evil : {"../../nodes/x", "a?b=c", "a/b", "", "a%2fb", "a\r\nX: y"}) {
    for (std::string model::Binding::* field :
         {&model::Binding::name_space, &model::Binding::pod, &model::Binding::node}) {
      model::Binding wrong = binding();
      wrong.*field = evil;
      const auto bound = api.bind(wrong);
      ASSERT_FALSE(bound);
      EXPECT_EQ(bound.error().code, base::ErrorCode::kInvalid);
    }
    EXPECT_FALSE(api.get_pod("ns", evil));
    EXPECT_FALSE(api.get_pod(evil, "pod"));
  }
  EXPECT_TRUE(server.seen("bind").empty());
  EXPECT_TRUE(server.seen("get pod").empty());
}

TEST_F(KubeApiTest, OneConnectionServesCallsOneAfterAnother) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(api.bind(binding()));
  const auto seen = server.seen("bind");
  for (const auto& request : seen) EXPECT_EQ(request.port, seen[0].port);
}

TEST_F(KubeApiTest, AConnectionThatWasIdleForTooLongIsReplaced) {
  bench.limits.api_idle_ms = 0;
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  ASSERT_TRUE(api.bind(binding()));
  const auto seen = server.seen("bind");
  EXPECT_NE(seen[0].port, seen[1].port);
}

TEST_F(KubeApiTest, AConnectionThatTheServerClosedIsReplaced) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (int i = 0; i < 3; ++i) {
    ScriptedReply closing;
    closing.status = 201;
    closing.body = "{}";
    closing.headers["Connection"] = "close";
    server.script("bind", closing);
    ASSERT_TRUE(api.bind(binding())) << i;
  }
  EXPECT_EQ(server.seen("bind").size(), 3U);
}

TEST(KubeApiFaultTest, WhereNothingListensNothingWasBound) {
  Bench bench;
  const BadServer server(BadServer::Manner::kNotListening);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(api.get_pod("ns", "pod-1").error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(bench.metrics.counts.get().requests["bind failed"], 1);
}

TEST(KubeApiFaultTest, AConnectThatHangsEndsAndNothingWasBound) {
  Bench bench;
  bench.options.api_timeout = std::chrono::milliseconds(200);
  const BadServer server(BadServer::Manner::kNeverAccepts);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable) << bound.error().message;
}

TEST(KubeApiFaultTest, AConnectionThatEndsWithoutAnAnswerLeavesABindUnknown) {
  Bench bench;
  const BadServer server(BadServer::Manner::kCloseAfterRequest);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
  EXPECT_EQ(server.requests.get(), 1) << "a bind is never sent twice";
  const auto pod = api.get_pod("ns", "pod-1");
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, base::ErrorCode::kUnavailable) << "a read changes nothing";
}

TEST(KubeApiFaultTest, AnAnswerThatNobodyAskedForIsTakenForNoOtherCallsAnswer) {
  Bench bench;
  const BadServer server(BadServer::Manner::kAnswersTwice);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (int i = 0; i < 3; ++i) {
    const auto bound = api.bind(binding());
    EXPECT_TRUE(bound) << bound.error().message;
  }
  EXPECT_EQ(server.requests.get(), 3);
}

TEST(KubeApiFaultTest, AnAnswerThatComesAfterTheCallIsTakenForNoOtherCallsEither) {
  Bench bench;
  BadServer server(BadServer::Manner::kAnswersAgain);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (int i = 0; i < 3; ++i) {
    const auto bound = api.bind(binding());
    EXPECT_TRUE(bound) << bound.error().message;
    server.go_on();
  }
  EXPECT_EQ(server.requests.get(), 3);
}

TEST(KubeApiFaultTest, SilenceEndsWithTheTimeOutAndLeavesABindUnknown) {
  Bench bench;
  // Enough to send the request on a busy machine.
  bench.options.api_timeout = std::chrono::milliseconds(2'000);
  const BadServer server(BadServer::Manner::kSilent);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
  EXPECT_THAT(bound.error().message, HasSubstr("within 2000 ms"));
}

TEST_F(KubeApiTest, ABodyThatNeverEndsIsCutOffByTheTimeOutToo) {
  bench.options.api_timeout = std::chrono::milliseconds(300);
  ScriptedReply slow;
  slow.pieces = {"{"};
  slow.end = ScriptedReply::End::kHold;
  server.script("get pod", slow);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  EXPECT_EQ(api.get_pod("ns", "pod-1").error().code, base::ErrorCode::kUnavailable);
}

TEST(KubeApiFaultTest, WhereAllConnectionsAreBusyACallWaitsForOneAndNoLonger) {
  Bench bench;
  bench.options.api_timeout = std::chrono::seconds(3);
  bench.limits.api_connections = 1;
  const BadServer server(BadServer::Manner::kSilent);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  Watched<std::vector<base::ErrorCode>> codes;
  const auto call = [&] {
    const auto bound = api.bind(binding());
    codes.change([&](std::vector<base::ErrorCode>& all) {
      all.push_back(bound ? base::ErrorCode::kInternal : bound.error().code);
    });
  };
  std::thread first(call);
  ASSERT_TRUE(server.requests.wait([](int count) { return count == 1; }));
  std::thread second(call);
  first.join();
  second.join();
  const auto all = codes.get();
  // The second gets the connection in its last moments, or none: it is bounded either way.
  EXPECT_EQ(std::count(all.begin(), all.end(), base::ErrorCode::kInternal), 0);
  EXPECT_GE(std::count(all.begin(), all.end(), base::ErrorCode::kUnknown), 1);
}

TEST_F(KubeApiTest, AtMostTheAllowedConnectionsAreOpen) {
  bench.limits.api_connections = 3;
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) EXPECT_TRUE(api.bind(binding()));
    });
  }
  for (auto& thread : threads) thread.join();
  std::map<int, int> ports;
  for (const auto& request : server.seen("bind")) ++ports[request.port];
  EXPECT_LE(ports.size(), 3U);
  EXPECT_EQ(server.seen("bind").size(), 240U);
}

TEST_F(KubeApiTest, APodIsReadFromTheStore) {
  ScriptedReply reply;
  reply.body = pod_json("pod-1", 7);
  server.script("get pod", reply);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  const auto pod = api.get_pod("ns", "pod-1");
  ASSERT_TRUE(pod && *pod) << pod.error().message;
  EXPECT_EQ((*pod)->uid, "uid-pod-1");
  EXPECT_EQ(server.seen("get pod")[0].target, "/api/v1/namespaces/ns/pods/pod-1");
}

TEST_F(KubeApiTest, TooLongAReplyIsRefused) {
  bench.limits.max_object_bytes = 1000;
  ScriptedReply reply;
  reply.body = std::string(5000, ' ');
  server.script("get pod", reply);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  EXPECT_EQ(api.get_pod("ns", "pod-1").error().code, base::ErrorCode::kTooLarge);
  EXPECT_TRUE(api.bind(binding())) << "the next call is unaffected";
}

TEST_F(KubeApiTest, ARotatedTokenIsReadAfterA401AndTheCallRepeatedOnce) {
  const TempFolder folder;
  kube::ApiEndpoint endpoint = server.endpoint();
  endpoint.token.path = folder.write("token", "old\n");
  std::atomic<bool> new_only = false;
  server.guard([&](const httplib::Request& request) {
    return request.get_header_value("Authorization") == (new_only ? "Bearer new" : "Bearer old");
  });
  kube::KubeApi api(endpoint, bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  new_only = true;
  auto refused = api.bind(binding());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kInvalid);
  EXPECT_EQ(server.seen("bind").size(), 2U) << "the token is the same: no second attempt";
  folder.write("token", "new\n");
  ASSERT_TRUE(api.bind(binding()));
  EXPECT_EQ(server.seen("bind").size(), 4U);
}

TEST_F(KubeApiTest, RoomTouchesTheOwnPodWhereThereIsOne) {
  bench.options.own_namespace = "snug-system";
  bench.options.own_pod = "snug-0";
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.wake_pending_pods(base::Generation{42}));
  const auto seen = server.seen("patch");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].target, "/api/v1/namespaces/snug-system/pods/snug-0/status");
  EXPECT_EQ(seen[0].content_type, "application/merge-patch+json");
  const json body = json::parse(seen[0].body);
  const auto& written = body.at("metadata").at("annotations").at("snug.dev/room");
  EXPECT_TRUE(written.get<std::string>().starts_with("42.")) << written;
}

TEST_F(KubeApiTest, Before132RoomTouchesAStorageCapacity) {
  bench.options.own_namespace = "snug-system";
  bench.options.own_pod = "snug-0";
  for (const int minor : {31, 32}) {
    bench.options.kubernetes_minor = minor;
    kube::KubeApi api(server.endpoint(), bench.options, bench.context());
    ASSERT_TRUE(api.wake_pending_pods(base::Generation{42}));
  }
  const auto seen = server.seen("patch");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].target,
            "/apis/storage.k8s.io/v1/namespaces/snug-system/csistoragecapacities/snug-room");
  EXPECT_EQ(seen[1].target, "/api/v1/namespaces/snug-system/pods/snug-0/status");
}

TEST_F(KubeApiTest, NoTouchRepeatsAValueOfThisOrAnotherProcess) {
  bench.options.own_namespace = "snug-system";
  bench.options.own_pod = "snug-0";
  for (int process = 0; process < 3; ++process) {
    kube::KubeApi api(server.endpoint(), bench.options, bench.context());
    ASSERT_TRUE(api.wake_pending_pods(base::Generation{1}));
    ASSERT_TRUE(api.wake_pending_pods(base::Generation{1}));
  }
  std::set<std::string> bodies;
  for (const SeenRequest& seen : server.seen("patch")) bodies.insert(seen.body);
  EXPECT_EQ(bodies.size(), 6U);
}

TEST_F(KubeApiTest, ABindingDoesNotLeaveAfterItsTime) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  model::Binding late = binding();
  late.not_after = bench.clock.now();
  const auto refused = api.bind(late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable) << refused.error().message;
  EXPECT_TRUE(server.seen("bind").empty());
  late.not_after = bench.clock.now() + std::chrono::hours(1);
  EXPECT_TRUE(api.bind(late));
}

/// TCP_USER_TIMEOUT of this process's connections to the port; 0: it is not set.
std::vector<int> user_timeouts(int port) {
  std::vector<int> found;
  for (int fd = 0; fd < 1'024; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    unsigned timeout = 0;
    size = sizeof timeout;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size) == 0) {
      found.push_back(static_cast<int>(timeout));
    }
  }
  return found;
}

TEST_F(KubeApiTest, WhatTheApiServerDoesNotAcknowledgeIsGivenUpWithinTheTimeout) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  const int timeout = static_cast<int>(bench.options.api_timeout.count());
  EXPECT_THAT(user_timeouts(server.port()), AllOf(Not(IsEmpty()), Each(timeout)));
}

TEST_F(KubeApiTest, RoomTouchesOneNodeElseAndAnotherWhenThatIsGone) {
  const auto one_node = [&](const std::string& name) {
    ScriptedReply reply;
    reply.body = list_json("NodeList", {R"({"metadata":{"name":")" + name + R"("}})"}, "1");
    server.script("one node", reply);
  };
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  one_node("n1");
  ASSERT_TRUE(api.wake_pending_pods(base::Generation{1}));
  ASSERT_TRUE(api.wake_pending_pods(base::Generation{2}));
  EXPECT_EQ(server.seen("one node").size(), 1U) << "the name is remembered";
  ScriptedReply gone;
  gone.status = 404;
  gone.body = R"({"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound"})";
  server.script("patch", gone);
  one_node("n2");
  ASSERT_TRUE(api.wake_pending_pods(base::Generation{3}));
  EXPECT_EQ(server.seen("patch").back().target, "/api/v1/nodes/n2");
  EXPECT_EQ(server.seen("one node").size(), 2U);
}

TEST_F(KubeApiTest, RoomInAnEmptyClusterIsAnError) {
  ScriptedReply none;
  none.body = R"({"items":[]})";
  server.script("one node", none);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  EXPECT_EQ(api.wake_pending_pods(base::Generation{1}).error().code, base::ErrorCode::kNotFound);
}

model::Notice notice(const std::string& note) {
  return {"ns", "pod-1", "uid-1", "Malformed", note};
}

TEST_F(KubeApiTest, AWarningIsWrittenAsAnEventAboutThePod) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  api.notify(notice("gpu-fraction `2x` is wrong"));
  ASSERT_TRUE(server.wait_seen("event", 1));
  const auto seen = server.seen("event")[0];
  EXPECT_EQ(seen.target, "/apis/events.k8s.io/v1/namespaces/ns/events");
  const json event = json::parse(seen.body);
  EXPECT_EQ(event.at("apiVersion"), "events.k8s.io/v1");
  EXPECT_EQ(event.at("type"), "Warning");
  EXPECT_EQ(event.at("reason"), "Malformed");
  EXPECT_EQ(event.at("note"), "gpu-fraction `2x` is wrong");
  EXPECT_EQ(event.at("reportingController"), "snug.dev/extender");
  EXPECT_EQ(event.at("regarding").at("uid"), "uid-1");
  EXPECT_EQ(event.at("metadata").at("namespace"), "ns");
  EXPECT_THAT(event.at("eventTime").get<std::string>(),
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"));
  EXPECT_THAT(event.at("metadata").at("name").get<std::string>(),
              MatchesRegex("pod-1\\.[0-9a-f]{16}"));
  const auto instance = event.at("reportingInstance").get<std::string>();
  EXPECT_FALSE(instance.empty());
  EXPECT_LE(instance.size(), 128U);
}

TEST_F(KubeApiTest, LongAndBrokenNotesAreMadeToFit) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  model::Notice long_one = notice(std::string(1023, 'x') + "\xC3\xA4\xFF");
  long_one.name = std::string(236, 'a') + "-" + std::string(16, 'b');
  api.notify(long_one);
  ASSERT_TRUE(server.wait_seen("event", 1));
  const json event = json::parse(server.seen("event")[0].body);
  EXPECT_EQ(event.at("note").get<std::string>().size(), 1023U);
  EXPECT_LE(event.at("metadata").at("name").get<std::string>().size(), 253U);
}

TEST_F(KubeApiTest, TheSameWarningIsNotRepeatedUntilItsTimeIsOver) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (int i = 0; i < 10; ++i) api.notify(notice("a"));
  api.notify(notice("b"));
  ASSERT_TRUE(server.wait_seen("event", 2));
  bench.clock.advance(std::chrono::milliseconds(bench.limits.event_repeat_ms - 1));
  api.notify(notice("a"));
  bench.clock.advance(std::chrono::milliseconds(1));
  api.notify(notice("a"));
  api.notify(notice("last"));
  ASSERT_TRUE(server.wait_seen("event", 4));
  std::vector<std::string> notes;
  for (const auto& seen : server.seen("event")) {
    notes.push_back(json::parse(seen.body).at("note").get<std::string>());
  }
  EXPECT_THAT(notes, ::testing::ElementsAre("a", "b", "a", "last"));
}

TEST(KubeApiFaultTest, WarningsNeverWaitAndTheQueueIsBounded) {
  Bench bench;
  bench.limits.max_queued_events = 4;
  const BadServer server(BadServer::Manner::kSilent);
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  api.notify(notice("first"));
  ASSERT_TRUE(server.requests.wait([](int count) { return count == 1; }));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(api.notify(notice(std::to_string(i))), i < 4) << i;
  EXPECT_TRUE(api.notify(notice("3"))) << "it is queued already";
  EXPECT_EQ(bench.metrics.counts.get().dropped, 6);
}

}  // namespace
}  // namespace snug::kube_api_test
