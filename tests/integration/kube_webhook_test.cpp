#include "snug/adapters/kube/kube_webhook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "integration/kube_support.hpp"

namespace snug::kube_webhook_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kSecret =
    R"({"metadata":{"name":"snug-webhook","resourceVersion":"7"},
        "data":{"ca.crt":"QQ==","tls.crt":"Qg==","tls.key":"Qw=="}})";

std::string not_found(const std::string& kind, const std::string& name) {
  return json{{"kind", "Status"},
              {"apiVersion", "v1"},
              {"code", 404},
              {"reason", "NotFound"},
              {"details", {{"kind", kind}, {"name", name}}}}
      .dump();
}

std::string configuration(const std::string& ca_bundle) {
  return json{{"webhooks",
               {{{"name", "a.gpu-pods.snug.dev"}, {"clientConfig", {{"caBundle", ca_bundle}}}}}}}
      .dump();
}

class KubeWebhookTest : public ::testing::Test {
 protected:
  /// Each GET is of the kind "get pod" for ScriptedApi, each POST of the kind "event".
  void answer(const std::string& kind, int status, const std::string& body) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = body;
    server_.script(kind, reply);
  }
  static base::ErrorCode code_of(const auto& result) {
    return result ? base::ErrorCode::kInternal : result.error().code;
  }

  Bench bench_;
  ScriptedApi server_;
  kube::KubeWebhook api_{server_.endpoint(), bench_.options, bench_.context(), "gpu"};
};

TEST_F(KubeWebhookTest, TheSecretIsReadWithItsVersion) {
  answer("get pod", 200, kSecret);
  const auto stored = api_.read_identities();
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->version, "7");
  EXPECT_EQ((*stored)->identities.serving,
            (admission::ServerIdentity{.authority = "A", .certificate = "B", .key = "C"}));
  EXPECT_EQ(server_.seen("get pod")[0].target, "/api/v1/namespaces/gpu/secrets/snug-webhook");
}

TEST_F(KubeWebhookTest, OnlyTheApiServersWordMeansThatThereIsNone) {
  answer("get pod", 404, not_found("secrets", "snug-webhook"));
  auto stored = api_.read_identities();
  ASSERT_TRUE(stored);
  EXPECT_FALSE(*stored);
  for (const std::string& body : {not_found("secrets", "other"), std::string("<html>404</html>")}) {
    answer("get pod", 404, body);
    EXPECT_EQ(code_of(api_.read_identities()), base::ErrorCode::kUnavailable) << body;
  }
  answer("get pod", 403, R"({"kind":"Status","code":403,"message":"no"})");
  stored = api_.read_identities();
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error().message, HasSubstr("403"));
}

TEST_F(KubeWebhookTest, TheSecretIsWrittenOverTheVersionThatWasRead) {
  const service::StoredIdentities read{.identities = {}, .version = "7"};
  const admission::WebhookIdentities wanted{.serving = {"A", "B", "C"}};
  answer("patch", 200, kSecret);
  ASSERT_TRUE(api_.write_identities(wanted, &read));
  const SeenRequest patch = server_.seen("patch")[0];
  EXPECT_EQ(patch.content_type, "application/merge-patch+json");
  EXPECT_EQ(json::parse(patch.body)["metadata"]["resourceVersion"], "7");
  answer("patch", 409, R"({"kind":"Status","apiVersion":"v1","code":409,"reason":"Conflict"})");
  EXPECT_EQ(code_of(api_.write_identities(wanted, &read)), base::ErrorCode::kConflict);
  answer("event", 201, kSecret);
  ASSERT_TRUE(api_.write_identities(wanted, nullptr));
  EXPECT_EQ(server_.seen("event")[0].target, "/api/v1/namespaces/gpu/secrets");
}

TEST_F(KubeWebhookTest, OnlyTheConfigurationWithOtherAuthoritiesIsPatched) {
  answer("get pod", 200, configuration("QQ=="));
  answer("get pod", 200, configuration("Qg=="));
  EXPECT_EQ(api_.publish("B"), false);
  ASSERT_EQ(server_.seen("patch").size(), 1U);
  const SeenRequest patch = server_.seen("patch")[0];
  EXPECT_EQ(patch.target,
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug");
  EXPECT_EQ(patch.content_type, "application/json-patch+json");
  answer("get pod", 200, configuration("Qg=="));
  answer("get pod", 404, not_found("validatingwebhookconfigurations", "snug"));
  EXPECT_EQ(api_.publish("B"), true) << "a configuration that is absent needs no authorities";
  answer("get pod", 200, configuration("Qg=="));
  answer("get pod", 404, "nobody is here");
  EXPECT_FALSE(api_.publish("B")) << "something else than the API server answers";
}

TEST_F(KubeWebhookTest, TheCardsAreReadAndMayBeAbsent) {
  answer("GET parameters", 200, R"({"spec":{"smallestMib":1,"largestMib":2}})");
  const auto cards = api_.read_cards();
  ASSERT_TRUE(cards && *cards);
  EXPECT_EQ(**cards, (admission::CardRange{.smallest = {1}, .largest = {2}}));
  for (const std::string& body :
       {not_found("mirrorparameters", "snug"), std::string("404 page not found\n")}) {
    answer("GET parameters", 404, body);
    const auto absent = api_.read_cards();
    ASSERT_TRUE(absent) << body;
    EXPECT_FALSE(*absent);
  }
  answer("GET parameters", 200, "{}");
  EXPECT_FALSE(api_.read_cards());
}

}  // namespace
}  // namespace snug::kube_webhook_test
