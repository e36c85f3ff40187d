// Whether a failed bind can have reached the API server, for each way in which a connection fails.
// libcurl by itself sends any request again if a reused connection dies before the reply.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "integration/raw_peer.hpp"
#include "snug/adapters/kube/kube_api.hpp"

namespace snug::kube_resend_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using Session = RawPeer::Session;

model::Binding binding() { return {"ns", "pod-1", "uid-1", "node-1", {}}; }

const std::string& created() {
  static const std::string reply = http_reply(201, "{}");
  return reply;
}

/// What the API server answers to a binding that is there already.
const std::string& conflict() {
  static const std::string reply = http_reply(
      409,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":409,"reason":"Conflict"})");
  return reply;
}

class KubeResendTest : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::optional<Pem> certificate() const {
    if (!GetParam()) return std::nullopt;
    return authority.issue("server", "IP:127.0.0.1");
  }
  [[nodiscard]] kube::ApiEndpoint endpoint(const RawPeer& peer) const {
    kube::ApiEndpoint made = peer.endpoint();
    made.tls = GetParam();
    if (made.tls) made.authorities.text = authority.pem();
    return made;
  }
  /// Reads one request and counts it. False: the client ended without a whole request.
  bool hear(Session& session) {
    if (session.hear().empty()) return false;
    heard.change([](int& count) { ++count; });
    return true;
  }
  /// Answers requests with 201 until the client ends.
  [[nodiscard]] RawPeer::Script serve_all() {
    return [this](Session& session) {
      while (!session.hear().empty()) {
        heard.change([](int& count) { ++count; });
        session.say(created());
      }
    };
  }
  /// Answers a second attempt as if the first one was executed. The client may also connect again
  /// and close without a request.
  [[nodiscard]] RawPeer::Script refuse() {
    return [this](Session& session) {
      if (hear(session)) session.say(conflict());
    };
  }

  Bench bench;
  TestAuthority authority{"authority"};
  Watched<int> heard;
};

INSTANTIATE_TEST_SUITE_P(Both, KubeResendTest, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "Tls" : "Plain"); });

TEST_P(KubeResendTest, AFreshConnectionThatEndsAfterThePostLeavesTheBindUnknown) {
  for (const bool hard : {false, true}) {
    heard.change([](int& count) { count = 0; });
    RawPeer peer({[&](Session& session) {
                    hear(session);
                    if (hard) session.reset();
                  },
                  refuse()},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
    EXPECT_EQ(heard.get(), 1);
  }
}

TEST_P(KubeResendTest, AReusedConnectionThatEndsAfterThePostLeavesTheBindUnknown) {
  for (const bool hard : {false, true}) {
    heard.change([](int& count) { count = 0; });
    RawPeer peer({[&](Session& session) {
                    hear(session);
                    session.say(created());
                    hear(session);
                    if (hard) session.reset();
                  },
                  refuse()},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown)
        << "a 409 to a second POST would be a lost bind: " << bound.error().message;
    EXPECT_EQ(heard.get(), 2) << "the POST is not sent again";
  }
}

TEST_P(KubeResendTest, AReplyThatBreaksOffInItsHeadLeavesTheBindUnknown) {
  for (const char* beginning : {"HTTP/1.1 2", "HTTP/1.1 201 Created\r\n",
                                "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n"}) {
    heard.change([](int& count) { count = 0; });
    RawPeer peer({[&](Session& session) {
                    hear(session);
                    session.say(created());
                    hear(session);
                    session.say(beginning);
                  },
                  refuse()},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound) << beginning;
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
    EXPECT_THAT(bound.error().message, ::testing::HasSubstr("the connection was lost"))
        << beginning;
    EXPECT_EQ(heard.get(), 2);
  }
}

TEST_P(KubeResendTest, AConnectionThatEndedBeforeThePostIsReplaced) {
  for (const bool hard : {false, true}) {
    heard.change([](int& count) { count = 0; });
    Watched<bool> bound_once;
    RawPeer peer({[&](Session& session) {
                    hear(session);
                    session.say(created());
                    EXPECT_TRUE(bound_once.wait([](bool done) { return done; }));
                    if (hard) session.reset();
                  },
                  serve_all()},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    EXPECT_TRUE(api.bind(binding()));
    bound_once.change([](bool& done) { done = true; });
    ASSERT_TRUE(peer.closed.wait([](int count) { return count == 1; }));
    const auto bound = api.bind(binding());
    EXPECT_TRUE(bound) << bound.error().message;
    EXPECT_EQ(heard.get(), 2);
  }
}

TEST_P(KubeResendTest, WhereTheServerHasGoneSinceTheLastBindNothingWasBound) {
  auto peer = std::make_unique<RawPeer>(std::vector<RawPeer::Script>{serve_all()}, certificate());
  kube::KubeApi api(endpoint(*peer), bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  peer.reset();
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable) << bound.error().message;
}

TEST_P(KubeResendTest, AReadIsRepeatedOnANewConnection) {
  RawPeer peer({[&](Session& session) {
                  hear(session);
                  session.say(created());
                  hear(session);
                },
                [&](Session& session) {
                  hear(session);
                  session.say(http_reply(200, pod_json("pod-1", 7)));
                }},
               certificate());
  kube::KubeApi api(endpoint(peer), bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  const auto pod = api.get_pod("ns", "pod-1");
  EXPECT_TRUE(pod && *pod);
  EXPECT_EQ(heard.get(), 3);
}

TEST_P(KubeResendTest, BytesThatFollowAReplyAreNoReplyToTheNextRequest) {
  // In one piece with a reply, with its body, and later.
  const std::string head = created().substr(0, created().size() - 2);
  const std::vector<std::vector<std::string>> replies = {
      {created() + conflict()}, {head, "{}" + conflict()}, {created(), conflict()}};
  for (const auto& pieces : replies) {
    Watched<bool> answered;
    RawPeer peer({[&](Session& session) {
                    if (session.hear().empty()) return;
                    for (const std::string& piece : pieces) session.say(piece);
                    answered.change([](bool& all) { all = true; });
                    EXPECT_EQ(session.hear(), "") << "the connection must not be used again";
                  },
                  serve_all()},
                 certificate());
    kube::KubeApi api(endpoint(peer), bench.options, bench.context());
    ASSERT_TRUE(api.bind(binding()));
    ASSERT_TRUE(answered.wait([](bool all) { return all; }));
    const auto bound = api.bind(binding());
    EXPECT_TRUE(bound) << pieces.size() << " " << pieces[0].size() << ": " << bound.error().message;
  }
}

TEST(KubeResendTlsTest, WhereTheHandshakeFailsNothingWasBound) {
  Bench bench;
  const TestAuthority authority("authority");
  const TestAuthority stranger("stranger");
  // The server ends at once, speaks no TLS, or has another authority's certificate.
  struct Row {
    std::vector<RawPeer::Script> scripts;
    std::optional<Pem> certificate;
  };
  const auto no_tls = [](Session& session) { session.say("HTTP/1.1 400 Bad Request\r\n\r\n"); };
  const auto unreached = [](Session& session) { EXPECT_EQ(session.hear(), ""); };
  for (const Row& row : {Row{{}, {}}, Row{{no_tls}, {}},
                         Row{{unreached}, stranger.issue("server", "IP:127.0.0.1")}}) {
    RawPeer peer(row.scripts, row.certificate);
    kube::ApiEndpoint where = peer.endpoint();
    where.tls = true;
    where.authorities.text = authority.pem();
    kube::KubeApi api(where, bench.options, bench.context());
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable) << bound.error().message;
    EXPECT_THAT(bound.error().message, HasSubstr("TLS handshake"));
  }
}

}  // namespace
}  // namespace snug::kube_resend_test
