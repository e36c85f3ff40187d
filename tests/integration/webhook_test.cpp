// The webhook port over TLS, with certificates that Snug makes itself and replaces while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <memory>
#include <string>

#include "integration/kube_support.hpp"
#include "snug/adapters/http/certificate_maker.hpp"
#include "snug/adapters/http/webhook_server.hpp"
#include "snug/service/admission_service.hpp"

namespace snug::testing::webhook_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr const char* kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
        "resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE",
        "object":{"metadata":{"annotations":{"gpu-fraction":"2.5"}},
                  "spec":{"containers":[{"name":"main"}]}}}})";

admission::Validity around_now() {
  const admission::WallTime now = base::SystemClock().now();
  return {.from = now - hours{1}, .until = now + days{1}};
}

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest() { EXPECT_TRUE(server_.start()); }

  admission::ServerIdentity serve_new() {
    auto made = maker_.make(around_now());
    EXPECT_TRUE(made);
    const auto identity = std::make_shared<const admission::ServerIdentity>(*made);
    identity_.change([&](auto& current) { current = identity; });
    return *identity;
  }

  /// Sends a request as a client that trusts `authority`.
  httplib::Result post(const std::string& path, const std::string& body,
                       const std::string& authority, const char* type = "application/json") {
    httplib::SSLClient client("127.0.0.1", server_.port());
    const std::string name = "ca" + std::to_string(++clients_);
    client.set_ca_cert_path(folder_.write(name, authority).c_str());
    client.enable_server_certificate_verification(true);
    return client.Post(path.c_str(), body, type);
  }
  int status(const std::string& path, const std::string& body, const std::string& authority,
             const char* type = "application/json") {
    const httplib::Result result = post(path, body, authority, type);
    return result ? result->status : 0;
  }

  TempFolder folder_;
  int clients_ = 0;
  Watched<std::shared_ptr<const admission::ServerIdentity>> identity_;
  http::OpensslCertificateMaker maker_{{"snug-webhook.snug.svc"}, {"127.0.0.1"}};
  NoMetrics metrics_;
  service::AdmissionService service_{{}, {}, metrics_, {}};
  http::WebhookServer server_{
      {.mutate = [this](std::string& body) { return service_.mutate(body); },
       .validate = [this](std::string& body) { return service_.validate(body); }},
      {.tls_identity = [this] { return identity_.get(); }},
      [] {
        base::Limits limits;
        limits.max_review_bytes = 1'000;
        return limits;
      }()};
};

TEST_F(WebhookTest, WithoutACertificateConnectionsAreClosed) {
  const auto authority = maker_.make(around_now())->authority;
  EXPECT_EQ(status("/mutate", kReview, authority), 0);
  const auto identity = serve_new();
  EXPECT_EQ(status("/mutate", kReview, identity.authority), 200);
}

TEST_F(WebhookTest, BothPathsAnswer) {
  const auto identity = serve_new();
  const auto mutated = post("/mutate?timeout=3s", kReview, identity.authority);
  ASSERT_TRUE(mutated);
  EXPECT_EQ(mutated->status, 200);
  EXPECT_THAT(mutated->body, HasSubstr(R"("uid":"u-1","allowed":true,"patchType":"JSONPatch")"));
  const auto validated = post("/validate?timeout=3s", kReview, identity.authority);
  ASSERT_TRUE(validated);
  EXPECT_THAT(validated->body, HasSubstr(R"(Malformed: gpu-fraction is \"2.5\"; expected)"));
}

TEST_F(WebhookTest, ANewCertificateIsServedToTheNextConnection) {
  const auto first = serve_new();
  const auto second = serve_new();
  EXPECT_EQ(status("/mutate", kReview, first.authority), 0);
  EXPECT_EQ(status("/mutate", kReview, second.authority), 200);
  EXPECT_EQ(status("/mutate", kReview, first.authority + second.authority), 200)
      << "as while a certificate is replaced";
}

TEST_F(WebhookTest, BadRequestsGetASentence) {
  const auto trusted = serve_new().authority;
  EXPECT_EQ(status("/mutate", "{}", trusted), 400);
  EXPECT_EQ(status("/mutate", kReview, trusted, "text/plain"), 415);
  EXPECT_EQ(status("/filter", kReview, trusted), 404);
  EXPECT_EQ(status("/mutate", std::string(1'001, ' '), trusted), 413);
  const auto refused = post("/", kReview, trusted);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->body, R"({"Error":"unknown path; the paths are /mutate and /validate"})");
}

/// A certificate that signs itself, with a key that Go does not know.
admission::ServerIdentity ed448_identity() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448"), &EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key.get());
  X509_sign(made.get(), key.get(), nullptr);
  const auto text = [](auto write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    write(bio.get());
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &bytes);
    return std::string(bytes, static_cast<std::size_t>(size));
  };
  const std::string pem = text([&](BIO* bio) { PEM_write_bio_X509(bio, made.get()); });
  return {pem, pem, text([&](BIO* bio) {
            PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

TEST(CertificateMaker, InspectsWhatItMakes) {
  http::OpensslCertificateMaker maker({"snug-webhook.snug.svc"}, {"127.0.0.1"});
  const admission::Validity validity = around_now();
  const auto made = maker.make(validity);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(maker.inspect(*made), validity);
  const auto other = maker.make(validity);
  ASSERT_TRUE(other);
  EXPECT_NE(other->authority, made->authority);
  const auto problem = [&](const admission::ServerIdentity& identity) {
    const auto inspected = maker.inspect(identity);
    return inspected ? "none" : inspected.error().message;
  };
  EXPECT_EQ(problem({}), "ca.crt, tls.crt or tls.key is not PEM, or the key is encrypted");
  EXPECT_EQ(problem({made->authority, made->certificate, "no key"}),
            "ca.crt, tls.crt or tls.key is not PEM, or the key is encrypted");
  EXPECT_EQ(problem({made->authority, made->certificate, other->key}),
            "tls.key is not the key of tls.crt");
  EXPECT_EQ(problem({other->authority, made->certificate, made->key}),
            "tls.crt is not a server certificate that ca.crt has signed");
  EXPECT_EQ(
      problem(ed448_identity()),
      "a certificate has a key that the API server refuses; expected P-256, P-384, P-521, Ed25519, "
      "or RSA of at least 2048 bits");
  const auto problem_for = [&](std::vector<std::string> names, std::vector<std::string> addresses) {
    http::OpensslCertificateMaker other_maker(std::move(names), std::move(addresses));
    const auto inspected = other_maker.inspect(*made);
    return inspected ? "none" : inspected.error().message;
  };
  EXPECT_EQ(problem_for({"snug-webhook.snug.svc", "snug-webhook.other.svc"}, {}),
            "tls.crt lacks the name snug-webhook.other.svc");
  EXPECT_EQ(problem_for({}, {"127.0.0.2"}), "tls.crt lacks the IP address 127.0.0.2");
}

}  // namespace
}  // namespace snug::testing::webhook_test
