#include "snug/codec/access_reviews.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace snug::access_reviews_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kValid =
    R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"t"},
        "status":{"authenticated":true,"user":{"username":"system:serviceaccount:ml:ann",
        "uid":"u1","groups":["system:serviceaccounts","system:authenticated"],
        "extra":{"authentication.kubernetes.io/pod-name":["p","q"]}},
        "audiences":["https://kubernetes.default.svc"]}})";

const model::TokenUser kAnn{.name = "system:serviceaccount:ml:ann",
                            .uid = "u1",
                            .groups = {"system:serviceaccounts", "system:authenticated"},
                            .extra = {{"authentication.kubernetes.io/pod-name", {"p", "q"}}}};

TEST(AccessReviewsTest, TheTokenIsAsked) {
  EXPECT_EQ(json::parse(codec::write_token_review("a\"b")), json::parse(R"({"kind":"TokenReview",
      "apiVersion":"authentication.k8s.io/v1","spec":{"token":"a\"b"}})"));
}

TEST(AccessReviewsTest, TheUserOfAValidTokenIsReadInWhole) {
  const auto user = codec::read_token_review(kValid, {});
  ASSERT_TRUE(user && *user);
  EXPECT_EQ(**user, kAnn);
}

TEST(AccessReviewsTest, ATokenIsNotValidUnlessTheApiServerSaysSo) {
  for (const char* status : {R"({})", R"({"authenticated":false,"error":"expired"})",
                             R"({"user":{"username":"ann"}})"}) {
    const auto user = codec::read_token_review(std::string(R"({"status":)") + status + "}", {});
    ASSERT_TRUE(user) << status;
    EXPECT_FALSE(*user) << status;
  }
}

TEST(AccessReviewsTest, WhatIsNoTokenReviewIsAnError) {
  for (const char* body :
       {"", "{}", "[]", R"({"status":{"authenticated":"yes"}})",
        R"({"status":{"authenticated":true}})", R"({"status":{"authenticated":true,"user":{}}})",
        R"({"status":{"authenticated":true,"user":{"username":""}}})",
        R"({"status":{"authenticated":true,"user":{"username":"a","groups":"g"}}})",
        R"({"status":{"authenticated":true,"user":{"username":"a","extra":["x"]}}})"}) {
    const auto user = codec::read_token_review(body, {});
    ASSERT_FALSE(user) << body;
    EXPECT_THAT(user.error().message, HasSubstr("TokenReview")) << body;
  }
}

TEST(AccessReviewsTest, TheReviewNamesTheWholeUserAndTheQuestion) {
  const json path = json::parse(codec::write_path_review(kAnn, "get", "/v1/nodes"));
  EXPECT_EQ(path, json::parse(R"({"apiVersion":"authorization.k8s.io/v1",
      "kind":"SubjectAccessReview","spec":{"user":"system:serviceaccount:ml:ann","uid":"u1",
      "groups":["system:serviceaccounts","system:authenticated"],
      "extra":{"authentication.kubernetes.io/pod-name":["p","q"]},
      "nonResourceAttributes":{"path":"/v1/nodes","verb":"get"}}})"));
  const json pods = json::parse(codec::write_pods_review({.name = "ann"}, "ml"));
  EXPECT_EQ(pods["spec"], json::parse(R"({"user":"ann","resourceAttributes":
      {"namespace":"ml","verb":"list","version":"v1","resource":"pods"}})"));
}

TEST(AccessReviewsTest, NothingButTheApiServersYesAllows) {
  const auto allowed = [](const char* body) { return codec::read_access_review(body, {}); };
  EXPECT_TRUE(allowed(R"({"status":{"allowed":true,"reason":"RBAC"}})").value());
  EXPECT_FALSE(allowed(R"({"status":{"allowed":false}})").value());
  for (const char* body : {"", "{}", R"({"status":{}})", R"({"status":{"allowed":"true"}})",
                           R"({"allowed":true})", R"({"status":{"allowed":true,"allowed":false}})"})
    EXPECT_FALSE(allowed(body)) << body;
}

}  // namespace
}  // namespace snug::access_reviews_test
