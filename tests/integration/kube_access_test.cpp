#include "snug/adapters/kube/kube_access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "integration/kube_support.hpp"

namespace snug::kube_access_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::HasSubstr;

class KubeAccessTest : public ::testing::Test {
 protected:
  /// Each POST is of the kind "event" for ScriptedApi.
  void answer(int status, const std::string& body) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = body;
    server_.script("event", reply);
  }
  SeenRequest last_request() { return server_.seen("event").back(); }

  Bench bench_;
  ScriptedApi server_;
  kube::KubeAccess access_{server_.endpoint(), bench_.options, bench_.context()};
};

TEST_F(KubeAccessTest, EachQuestionIsOneReviewOfTheApiServer) {
  answer(201, R"({"status":{"authenticated":true,"user":{"username":"ann"}}})");
  const auto user = access_.user_of("secret");
  ASSERT_TRUE(user && *user);
  EXPECT_EQ((*user)->name, "ann");
  EXPECT_EQ(last_request().target, "/apis/authentication.k8s.io/v1/tokenreviews");
  EXPECT_EQ(json::parse(last_request().body)["spec"]["token"], "secret");

  answer(201, R"({"status":{"allowed":true}})");
  EXPECT_TRUE(access_.may_request(**user, "get", "/metrics").value());
  EXPECT_EQ(last_request().target, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_EQ(json::parse(last_request().body)["spec"]["nonResourceAttributes"]["path"], "/metrics");

  answer(201, R"({"status":{"allowed":false}})");
  EXPECT_FALSE(access_.may_list_pods(**user, "ml").value());
  EXPECT_EQ(json::parse(last_request().body)["spec"]["resourceAttributes"]["namespace"], "ml");
}

TEST_F(KubeAccessTest, ARefusalOfTheReviewIsNoAnswer) {
  answer(403, R"({"kind":"Status","code":403,"message":"tokenreviews is forbidden"})");
  const auto user = access_.user_of("secret");
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(user.error().message, HasSubstr("tokenreviews is forbidden"));
  EXPECT_THAT(user.error().message, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace snug::kube_access_test
