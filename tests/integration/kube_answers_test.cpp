// What an answer to a binding or to the read of a pod means, and whether it is the API server's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_api.hpp"

namespace snug::kube_answers_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::HasSubstr;

model::Binding binding() { return {"ns", "pod-1", "uid-1", "node-1", {}}; }

/// As the API server words a refusal.
std::string status_json(int code, const std::string& message,
                        const std::string& reason = "NotFound") {
  return json{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object()},
              {"status", "Failure"}, {"message", message}, {"reason", reason},
              {"code", code}}
      .dump();
}

class KubeAnswersTest : public ::testing::Test {
 protected:
  Bench bench;
  ScriptedApi server;
};

TEST_F(KubeAnswersTest, EachAnswerToABindHasItsMeaning) {
  struct Row {
    int status;
    std::optional<base::ErrorCode> code;
  };
  const Row rows[] = {
      {200, std::nullopt},
      {201, std::nullopt},
      {409, base::ErrorCode::kConflict},
      {404, base::ErrorCode::kNotFound},
      {400, base::ErrorCode::kInvalid},
      {403, base::ErrorCode::kInvalid},
      {422, base::ErrorCode::kInvalid},
      {429, base::ErrorCode::kUnavailable},
      {408, base::ErrorCode::kUnknown},
      {500, base::ErrorCode::kUnknown},
      {503, base::ErrorCode::kUnknown},
      {504, base::ErrorCode::kUnknown},
  };
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const Row& row : rows) {
    ScriptedReply reply;
    reply.status = row.status;
    reply.body = status_json(row.status, "because");
    server.script("bind", reply);
    const auto bound = api.bind(binding());
    EXPECT_EQ(bound.has_value(), !row.code.has_value()) << row.status;
    if (row.code && !bound) {
      EXPECT_EQ(bound.error().code, *row.code) << row.status;
      EXPECT_THAT(bound.error().message, HasSubstr(std::to_string(row.status)));
      EXPECT_THAT(bound.error().message, HasSubstr("because"));
    }
  }
  EXPECT_EQ(server.seen("bind").size(), std::size(rows)) << "none is repeated";
}

TEST_F(KubeAnswersTest, HowLongEachRequestTakesIsCounted) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  server.guard([&](const httplib::Request&) {
    bench.clock.advance(std::chrono::milliseconds(40));
    return true;
  });
  ASSERT_TRUE(api.bind(binding()));
  server.script("bind", {.status = 500});
  ASSERT_FALSE(api.bind(binding()));
  const Counts counts = bench.metrics.counts.get();
  EXPECT_EQ(counts.microseconds.at("bind ok"), (std::vector<std::int64_t>{40'000}));
  EXPECT_EQ(counts.microseconds.at("bind failed"), (std::vector<std::int64_t>{40'000}));
}

TEST_F(KubeAnswersTest, ARefusalOfABindThatIsNotTheApiServersLeavesItUnknown) {
  struct Row {
    int status;
    std::string body;
    base::ErrorCode code;
  };
  const Row rows[] = {
      {404, "404 page not found\n", base::ErrorCode::kUnknown},
      {404, "", base::ErrorCode::kUnknown},
      {404, status_json(404, "no such page", "Because"), base::ErrorCode::kUnknown},
      {400, "<html>Bad Request</html>", base::ErrorCode::kUnknown},
      {401, R"({"error":"login"})", base::ErrorCode::kUnknown},
      {403, R"({"kind":"Status","apiVersion":"v1"})", base::ErrorCode::kUnknown},
      {403, R"({"kind":"Error","apiVersion":"v1","code":403})", base::ErrorCode::kUnknown},
      {409, status_json(404, "of another reply"), base::ErrorCode::kUnknown},
      {409, status_json(409, "it is there").substr(0, 40), base::ErrorCode::kUnknown},
      {422, "unprocessable", base::ErrorCode::kUnknown},
      {429, "slow down", base::ErrorCode::kUnknown},
      {302, "elsewhere", base::ErrorCode::kUnknown},
      // The API server turns requests away without a Status.
      {429, "Too many requests, please try again later.\n", base::ErrorCode::kUnavailable},
  };
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const Row& row : rows) {
    ScriptedReply reply;
    reply.status = row.status;
    reply.body = row.body;
    server.script("bind", reply);
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound) << row.status;
    EXPECT_EQ(bound.error().code, row.code) << row.status << " " << row.body;
    const bool named = bound.error().message.starts_with("something that is not the API server");
    EXPECT_EQ(named, row.code == base::ErrorCode::kUnknown) << bound.error().message;
  }
}

TEST_F(KubeAnswersTest, ARefusedEventIsLoggedWithTheStatusOfTheReply) {
  struct Row {
    int status;
    int attempts;
    std::string answered_by;
  };
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const Row& row : {Row{302, 4, "something that is not the API server answered 302"},
                         Row{403, 1, "the API server answered 403"}}) {
    ScriptedReply refusal;
    refusal.status = row.status;
    refusal.body = status_json(row.status, "because");
    for (int i = 0; i < row.attempts; ++i) server.script("event", refusal);
    api.notify({"ns", "pod-1", "uid-1", "Malformed", std::to_string(row.status)});
    EXPECT_TRUE(bench.log.wait_for(
        "the event `Malformed` about the pod ns/pod-1 was not written: " + row.answered_by +
        " to its POST: because"));
  }
}

TEST_F(KubeAnswersTest, AnEventIsTriedAgainAfterAWaitInWhichOthersAreQueued) {
  bench.limits.backoff_first_ms = 50;
  bench.limits.backoff_last_ms = 1'000;
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  server.script("event", {.status = 503});
  server.script("event", {.status = 503});
  const auto start = std::chrono::steady_clock::now();
  api.notify({"ns", "pod-1", "uid-1", "Malformed", "first"});
  ASSERT_TRUE(server.wait_seen("event", 1));
  api.notify({"ns", "pod-1", "uid-1", "Malformed", "second"});
  ASSERT_TRUE(server.wait_seen("event", 3));
  const auto third_attempt = std::chrono::steady_clock::now();
  EXPECT_GE(third_attempt - start, std::chrono::milliseconds(50 + 100)) << "shortest waits";
  ASSERT_TRUE(server.wait_seen("event", 4));
  const auto seen = server.seen("event");
  EXPECT_EQ(seen[1].body, seen[0].body);
  EXPECT_EQ(seen[2].body, seen[0].body);
  EXPECT_EQ(json::parse(seen[0].body).at("note"), "first");
  EXPECT_EQ(json::parse(seen[3].body).at("note"), "second");
  EXPECT_EQ(bench.log.text.get(), "");
}

TEST_F(KubeAnswersTest, AnEventThatAnEarlierAttemptWroteIsNotReported) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  server.script("event", {.status = 504});
  server.script("event", {.status = 409, .body = status_json(409, "it is there", "AlreadyExists")});
  api.notify({"ns", "pod-1", "uid-1", "Malformed", "first"});
  api.notify({"ns", "pod-1", "uid-1", "Malformed", "second"});
  ASSERT_TRUE(server.wait_seen("event", 3));
  EXPECT_EQ(bench.log.text.get(), "");
}

// Each wait of these takes far longer than the test's own limit unless the end of the KubeApi ends
// it.
TEST(KubeAnswersFaultTest, TheEndDoesNotWaitUntilAnEventIsTriedAgain) {
  using Manner = BadServer::Manner;
  for (const Manner manner : {Manner::kNotListening, Manner::kCloseAfterRequest}) {
    Bench bench;
    bench.limits.backoff_first_ms = 3'600'000;
    bench.limits.backoff_last_ms = 3'600'000;
    const BadServer server(manner);
    {
      kube::KubeApi api(server.endpoint(), bench.options, bench.context());
      api.notify({"ns", "pod-1", "uid-1", "Malformed", "first"});
      api.notify({"ns", "pod-1", "uid-1", "Malformed", "second"});
      ASSERT_TRUE(bench.metrics.counts.wait(
          [](const Counts& counts) { return counts.requests.contains("event failed"); }));
    }
    EXPECT_EQ(bench.metrics.counts.get().requests.at("event failed"), 1);
    EXPECT_TRUE(bench.log.text.get().starts_with(
        "the event `Malformed` about the pod ns/pod-1 was not written: "));
  }
}

TEST_F(KubeAnswersTest, EachAnswerToAReadHasItsMeaning) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  struct Row {
    int status;
    std::string body;
    base::ErrorCode code;
  };
  for (const Row& row : {Row{403, status_json(403, "no rights"), base::ErrorCode::kInvalid},
                         Row{403, "garbage", base::ErrorCode::kUnavailable},
                         Row{429, "garbage", base::ErrorCode::kUnavailable},
                         Row{500, "garbage", base::ErrorCode::kUnavailable},
                         Row{200, "garbage", base::ErrorCode::kInvalid}}) {
    ScriptedReply reply;
    reply.status = row.status;
    reply.body = row.body;
    server.script("get pod", reply);
    EXPECT_EQ(api.get_pod("ns", "pod-1").error().code, row.code) << row.status;
  }
}

TEST_F(KubeAnswersTest, APodIsAbsentWhereTheApiServerSaysSoOfThatVeryPod) {
  const std::string absent = R"({"kind":"Status","apiVersion":"v1","metadata":{},)"
                             R"("status":"Failure","message":"pods \"pod-1\" not found",)"
                             R"("reason":"NotFound","details":{"name":"pod-1","kind":"pods"},)"
                             R"("code":404})";
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string body = absent;
    return body.replace(body.find(what), what.size(), instead);
  };
  struct Row {
    std::string body;
    bool is_absent;
  };
  const Row rows[] = {
      {absent, true},
      {"", false},
      {"404 page not found\n", false},
      {"<html>Not Found</html>", false},
      {"[]", false},
      {R"({"error":"not found"})", false},
      {with(R"("kind":"Status")", R"("kind":"Pod")"), false},
      {with(R"("v1")", R"("v2")"), false},
      {with(R"("NotFound")", R"("Expired")"), false},
      {with(R"("name":"pod-1")", R"("name":"pod-2")"), false},
      {with(R"("kind":"pods")", R"("kind":"nodes")"), false},
      {with(R"("code":404)", R"("code":410)"), false},
      // Of a path that it does not serve.
      {with(R"({"name":"pod-1","kind":"pods"})", "{}"), false},
      {absent.substr(0, absent.size() - 1), false},
  };
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const Row& row : rows) {
    ScriptedReply reply;
    reply.status = 404;
    reply.body = row.body;
    server.script("get pod", reply);
    const auto pod = api.get_pod("ns", "pod-1");
    ASSERT_EQ(pod.has_value(), row.is_absent) << row.body;
    if (row.is_absent) {
      EXPECT_FALSE(pod->has_value());
      continue;
    }
    EXPECT_EQ(pod.error().code, base::ErrorCode::kUnavailable) << row.body;
    EXPECT_THAT(pod.error().message,
                HasSubstr("something that is not the API server answered 404"));
  }
}

TEST_F(KubeAnswersTest, AReplyChangesNothingInTheNextRequest) {
  Watched<std::vector<httplib::Headers>> heads;
  server.guard([&](const httplib::Request& request) {
    heads.change([&](auto& all) { all.push_back(request.headers); });
    return true;
  });
  const ScriptedApi elsewhere;
  const std::string elsewhere_url = "http://127.0.0.1:" + std::to_string(elsewhere.port());
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const int status : {307, 401, 407, 200}) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = pod_json("pod-1", 1);
    reply.headers = {{"Location", elsewhere_url + "/api/v1/namespaces/ns/pods/pod-1"},
                     {"WWW-Authenticate", "Negotiate"},
                     {"Proxy-Authenticate", "Basic realm=x"},
                     {"Set-Cookie", "a=b"},
                     {"Alt-Svc", "http/1.1=\":" + std::to_string(elsewhere.port()) + "\""},
                     {"Strict-Transport-Security", "max-age=9"},
                     {"Content-Encoding", "gzip"}};
    server.script("get pod", reply);
    EXPECT_EQ(api.get_pod("ns", "pod-1").has_value(), status == 200) << "its text is not unpacked";
  }
  EXPECT_TRUE(api.bind(binding()));
  EXPECT_TRUE(elsewhere.seen("get pod").empty());
  EXPECT_TRUE(elsewhere.seen("bind").empty());
  ASSERT_GE(heads.get().size(), 5U);
  for (const httplib::Headers& head : heads.get()) {
    for (const char* name : {"Cookie", "Authorization", "Proxy-Authorization", "Upgrade"})
      EXPECT_FALSE(head.contains(name)) << name;
    const auto encoding = head.find("Accept-Encoding");
    ASSERT_NE(encoding, head.end());
    EXPECT_EQ(encoding->second, "identity");
  }
}

}  // namespace
}  // namespace snug::kube_answers_test
