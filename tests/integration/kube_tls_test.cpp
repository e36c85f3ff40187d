#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_api.hpp"
#include "snug/adapters/kube/kube_source.hpp"

namespace snug::kube_tls_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

model::Binding binding() { return {"ns", "pod-1", "uid-1", "node-1", {}}; }

class KubeTlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ScriptedApi> serve(const std::string& names,
                                     const std::string& address = "127.0.0.1") {
    return std::make_unique<ScriptedApi>(
        make_tls_server(authority.issue("server", names), authority), address);
  }
  kube::ApiEndpoint endpoint(const ScriptedApi& server) {
    kube::ApiEndpoint made = server.endpoint();
    made.tls = true;
    made.authorities.text = authority.pem();
    return made;
  }
  base::Result<void> bind_once(const kube::ApiEndpoint& where) {
    kube::KubeApi api(where, bench.options, bench.context());
    return api.bind(binding());
  }

  Bench bench;
  TestAuthority authority{"authority"};
};

TEST_F(KubeTlsTest, TheServersAddressIsCheckedAgainstItsCertificate) {
  const auto server = serve("IP:127.0.0.1");
  EXPECT_TRUE(bind_once(endpoint(*server)));

  const auto other = serve("IP:127.0.0.2,DNS:localhost");
  const auto refused = bind_once(endpoint(*other));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message,
              HasSubstr("no alternative certificate subject name matches"));
  EXPECT_TRUE(other->seen("bind").empty());
}

TEST_F(KubeTlsTest, AnotherNameForTheCertificateCanBeGiven) {
  const auto server = serve("DNS:kubernetes.default");
  kube::ApiEndpoint where = endpoint(*server);
  EXPECT_FALSE(bind_once(where));
  where.tls_server_name = "kubernetes.default";
  EXPECT_TRUE(bind_once(where));
  EXPECT_EQ(server->seen("bind").at(0).host, "127.0.0.1:" + std::to_string(server->port()));
  where.tls_server_name = "kubernetes";
  EXPECT_FALSE(bind_once(where));
}

TEST_F(KubeTlsTest, HostNamesAreChecked) {
  const auto server = serve("DNS:localhost");
  kube::ApiEndpoint where = endpoint(*server);
  where.host = "localhost";
  EXPECT_TRUE(bind_once(where));
}

TEST_F(KubeTlsTest, AnIpv6AddressIsAHostToo) {
  const auto server = serve("IP:::1", "::1");
  if (server->port() <= 0) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_TRUE(bind_once(endpoint(*server)));
  EXPECT_EQ(server->seen("bind").at(0).host, "[::1]:" + std::to_string(server->port()));
}

TEST_F(KubeTlsTest, OnlyTheGivenAuthorityIsTrusted) {
  const auto server = serve("IP:127.0.0.1");
  const TestAuthority stranger("authority");  // of the same name
  kube::ApiEndpoint where = endpoint(*server);
  where.authorities.text = stranger.pem();
  EXPECT_FALSE(bind_once(where));
  where.authorities.text = stranger.pem() + authority.pem();
  EXPECT_TRUE(bind_once(where));
  where.authorities.text.clear();
  EXPECT_FALSE(bind_once(where)) << "the system does not know it";
  where.verify_server = false;
  EXPECT_TRUE(bind_once(where));
  EXPECT_EQ(server->seen("bind").size(), 2U);
}

TEST_F(KubeTlsTest, AServerBelowTls12IsRefused) {
  auto plain = make_tls_server(authority.issue("server", "IP:127.0.0.1"), authority);
  auto* context = dynamic_cast<httplib::SSLServer&>(*plain).ssl_context();
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
  const ScriptedApi server(std::move(plain));
  EXPECT_FALSE(bind_once(endpoint(server)));
}

int note_offered_protocols(SSL*, const unsigned char**, unsigned char*,
                           const unsigned char* offered, unsigned offered_size, void* noted) {
  static_cast<Watched<std::string>*>(noted)->change(
      [&](std::string& text) { text.assign(offered, offered + offered_size); });
  return SSL_TLSEXT_ERR_NOACK;
}

TEST_F(KubeTlsTest, HttpTwoIsNotOffered) {
  Watched<std::string> offered;
  auto plain = make_tls_server(authority.issue("server", "IP:127.0.0.1"), authority);
  SSL_CTX_set_alpn_select_cb(dynamic_cast<httplib::SSLServer&>(*plain).ssl_context(),
                             &note_offered_protocols, &offered);
  const ScriptedApi server(std::move(plain));
  EXPECT_TRUE(bind_once(endpoint(server)));
  EXPECT_EQ(offered.get(), "\x08http/1.1");
}

TEST_F(KubeTlsTest, TheClientCertificateProvesWhoWeAre) {
  const auto server = serve("IP:127.0.0.1");
  server->guard([](const httplib::Request& request) { return client_name(request) == "snug"; });
  kube::ApiEndpoint where = endpoint(*server);
  EXPECT_FALSE(bind_once(where)) << "no certificate";
  const Pem client = authority.issue("snug");
  where.certificate.text = client.certificate;
  where.key.text = client.key;
  EXPECT_TRUE(bind_once(where));
}

TEST_F(KubeTlsTest, ARotatedClientCertificateIsUsedAfterA401) {
  const auto server = serve("IP:127.0.0.1");
  std::atomic<bool> second_only = false;
  server->guard([&](const httplib::Request& request) {
    return client_name(request) == (second_only ? "second" : "first");
  });
  const TempFolder folder;
  const Pem first = authority.issue("first");
  const Pem second = authority.issue("second");
  kube::ApiEndpoint where = endpoint(*server);
  where.certificate.path = folder.write("tls.crt", first.certificate);
  where.key.path = folder.write("tls.key", first.key);
  where.certificate.text.clear();
  kube::KubeApi api(where, bench.options, bench.context());
  ASSERT_TRUE(api.bind(binding()));
  second_only = true;
  EXPECT_FALSE(api.bind(binding()));
  folder.write("tls.crt", second.certificate);
  folder.write("tls.key", second.key);
  EXPECT_TRUE(api.bind(binding()));
}

TEST_F(KubeTlsTest, ARotatedAuthorityIsReadWhenItsTimeHasCome) {
  const TestAuthority next("next");
  const auto old_server = serve("IP:127.0.0.1");
  const auto new_server =
      std::make_unique<ScriptedApi>(make_tls_server(next.issue("server", "IP:127.0.0.1"), next));
  const TempFolder folder;
  kube::ApiEndpoint where = endpoint(*new_server);
  where.authorities.text.clear();
  where.authorities.path = folder.write("ca.crt", authority.pem());
  kube::KubeApi api(where, bench.options, bench.context());
  EXPECT_FALSE(api.bind(binding()));
  folder.write("ca.crt", next.pem());
  bench.clock.advance(std::chrono::milliseconds(bench.limits.credentials_reread_ms));
  EXPECT_TRUE(api.bind(binding()));
}

TEST_F(KubeTlsTest, ListsAndWatchesRunOverTlsAndStop) {
  const auto server = serve("IP:127.0.0.1");
  ScriptedReply list;
  list.body = list_json("PodList", {pod_json("a", 1)}, "10");
  server->script("list pods", list);
  ScriptedReply watch;
  watch.pieces = {event_json("ADDED", pod_json("b", 11))};
  watch.end = ScriptedReply::End::kHold;
  server->script("watch pods", watch);
  RecordingSink sink;
  kube::KubeSource source(endpoint(*server), bench.options, bench.context());
  source.start(sink);
  ASSERT_TRUE(sink.wait_line("pods listed a"));
  ASSERT_TRUE(sink.wait_line("pod changed b@11"));
  source.stop();
}

TEST(KubeTlsFaultTest, AHandshakeThatHangsEndsWithTheTimeOut) {
  Bench bench;
  bench.options.api_timeout = std::chrono::milliseconds(300);
  const BadServer server(BadServer::Manner::kSilent);
  kube::ApiEndpoint where = server.endpoint();
  where.tls = true;
  kube::KubeApi api(where, bench.options, bench.context());
  const auto bound = api.bind(binding());
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace snug::kube_tls_test
