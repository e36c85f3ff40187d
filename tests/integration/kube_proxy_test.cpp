// Calls that go through a proxy, and the proxy that a kubeconfig and the environment name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "integration/raw_peer.hpp"
#include "snug/adapters/kube/kube_api.hpp"

namespace snug::kube_proxy_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Session = RawPeer::Session;

model::Binding binding() { return {"ns", "pod-1", "uid-1", "node-1", {}}; }

std::string proxy_url(const RawPeer& peer) {
  return "http://user:secret@127.0.0.1:" + std::to_string(peer.endpoint().port);
}

kube::ApiEndpoint behind(const RawPeer& peer, bool tls) {
  kube::ApiEndpoint endpoint;
  endpoint.tls = tls;
  endpoint.host = "api.test";
  endpoint.port = 6443;
  endpoint.proxy = proxy_url(peer);
  endpoint.token.text = "token-of-the-cluster";
  return endpoint;
}

TEST(KubeProxyTest, WithoutTlsTheProxyGetsTheRequestItself) {
  Bench bench;
  Watched<std::string> heard;
  RawPeer peer({[&](Session& session) {
    heard.change([&](std::string& text) { text = session.hear(); });
    session.say(http_reply(201, "{}"));
    EXPECT_EQ(session.hear(), "");
  }});
  kube::KubeApi api(behind(peer, false), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT(heard.get(),
              AllOf(StartsWith("POST http://api.test:6443/api/v1/namespaces/ns/pods/pod-1/binding"),
                    HasSubstr("Host: api.test:6443\r\n"),
                    HasSubstr("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=")));
}

TEST(KubeProxyTest, WithTlsTheProxyGetsATunnelAndNoToken) {
  Bench bench;
  const TestAuthority authority("authority");
  ScriptedApi server(make_tls_server(authority.issue("server", "DNS:api.test"), authority));
  Watched<std::string> heard;
  RawPeer peer({[&](Session& session) {
    heard.change([&](std::string& text) { text = session.hear(); });
    session.say("HTTP/1.1 200 Connection established\r\n\r\n");
    session.splice_to(server.port());
  }});
  kube::ApiEndpoint endpoint = behind(peer, true);
  endpoint.authorities.text = authority.pem();
  kube::KubeApi api(endpoint, bench.options, bench.context());
  for (int i = 0; i < 3; ++i) {
    const auto bound = api.bind(binding());
    ASSERT_TRUE(bound) << bound.error().message;
  }
  EXPECT_THAT(heard.get(), AllOf(StartsWith("CONNECT api.test:6443 HTTP/1.1\r\n"),
                                 Not(HasSubstr("token-of-the-cluster"))));
  const auto seen = server.seen("bind");
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].host, "api.test:6443");
  EXPECT_EQ(seen[0].authorization, "Bearer token-of-the-cluster");
  EXPECT_EQ(seen[0].port, seen[2].port) << "the tunnel is kept";
}

TEST(KubeProxyTest, WhereTheProxyRefusesATunnelNothingWasBound) {
  Bench bench;
  for (const bool answers : {true, false}) {
    RawPeer peer({[&](Session& session) {
      EXPECT_NE(session.hear(), "");
      if (answers) session.say("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    }});
    kube::KubeApi api(behind(peer, true), bench.options, bench.context());
    const auto bound = api.bind(binding());
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable) << bound.error().message;
    EXPECT_THAT(bound.error().message, Not(HasSubstr("secret")));
  }
}

TEST(KubeProxyTest, AProxyThatEndsAfterThePostLeavesTheBindUnknown) {
  Bench bench;
  RawPeer peer({[](Session& session) { EXPECT_NE(session.hear(), ""); }});
  kube::KubeApi api(behind(peer, false), bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnknown) << bound.error().message;
}

class KubeProxyEnvironmentTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}) {
      ::unsetenv(name);
    }
  }
  [[nodiscard]] base::Result<kube::ApiEndpoint> load(const std::string& more) const {
    const auto path =
        folder.write("config",
                     "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
                     "clusters: [{name: c, cluster: {server: \"https://api.test\"" +
                         more + "}}]\n");
    return kube::load_kubeconfig(path, base::Limits{});
  }

  TempFolder folder;
};

TEST_F(KubeProxyEnvironmentTest, TheKubeconfigWinsOverTheEnvironment) {
  EXPECT_EQ(load("")->proxy, "");
  ::setenv("https_proxy", "http://lower:1", 1);
  EXPECT_EQ(load("")->proxy, "http://lower:1");
  ::setenv("HTTPS_PROXY", "upper:2", 1);
  EXPECT_EQ(load("")->proxy, "http://upper:2");
  ::setenv("NO_PROXY", "test", 1);
  EXPECT_EQ(load("")->proxy, "");
  EXPECT_EQ(load(", proxy-url: \"socks5://own\"")->proxy, "socks5h://own:1080");
  EXPECT_EQ(load(", proxy-url: \"\"")->proxy, "");
}

TEST_F(KubeProxyEnvironmentTest, AnInvalidProxyIsRefusedWithoutItsPassword) {
  const auto in_file = load(", proxy-url: \"ftp://user:secret@own\"");
  ASSERT_FALSE(in_file);
  EXPECT_THAT(in_file.error().message,
              AllOf(HasSubstr("`proxy-url` must be a proxy like"), HasSubstr(folder.path("config")),
                    Not(HasSubstr("secret"))));
  ::setenv("HTTPS_PROXY", "ftp://user:secret@own", 1);
  const auto refused = load("");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "HTTPS_PROXY must be a proxy like http://host:3128, with the scheme http, https or "
            "socks5");
}

}  // namespace
}  // namespace snug::kube_proxy_test
