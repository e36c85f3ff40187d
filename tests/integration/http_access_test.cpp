// What the admin port asks its AdminAccess, and what it does with the answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "integration/http_client.hpp"
#include "snug/adapters/http/admin_server.hpp"

namespace snug::testing::http_access_test {
namespace {

using Level = service::AccessAnswer::Level;

/// Gives one answer, and remembers the last question.
class OneAnswer final : public service::AdminAccess {
 public:
  service::AccessAnswer check(const service::AccessQuestion& question) override {
    asked = std::string(question.verb) + " " + std::string(question.path) + " [" +
            std::string(question.name_space) + "] " + std::string(question.authorization);
    return answer;
  }

  service::AccessAnswer answer{.level = Level::kAll};
  std::string asked;
};

class HttpAccessTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.start()); }

  HttpAnswer request(const std::string& method, const std::string& target) {
    access_.asked.clear();
    HttpClient client{server_.port()};
    client.send(method + " " + target + " HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer t\r\n\r\n");
    return client.receive(method == "HEAD").value_or(HttpAnswer{});
  }

  static http::AdminReply show(const http::AdminRequest& request) {
    return {.body = request.own_pods_only ? "own" : "all"};
  }

  OneAnswer access_;
  http::AdminServer server_{
      {{"GET", "/livez", "", show, {}, http::Audience::kEveryone},
       {"GET", "/v1/nodes", "", show, {"namespace"}},
       {"DELETE", "/v1/pods/{namespace}/{name}", "", show},
       {"GET", "/v1/pods", "", show, {"namespace", "manifest"}, http::Audience::kTenants}},
      &access_,
      {},
      {}};
};

TEST_F(HttpAccessTest, EachQuestionNamesTheVerbThePathAndTheNamespaceOfATenantsRoute) {
  struct Row {
    const char* method;
    const char* target;
    const char* asked;
  };
  const Row rows[] = {
      {"GET", "/v1/nodes", "get /v1/nodes [] Bearer t"},
      {"GET", "/v1/nodes?namespace=ml", "get /v1/nodes [] Bearer t"},
      {"DELETE", "/v1/pods/ml/a", "delete /v1/pods/ml/a [] Bearer t"},
      {"GET", "/v1/pods?namespace=ml", "get /v1/pods [ml] Bearer t"},
      {"HEAD", "/v1/pods?namespace=ml", "get /v1/pods [ml] Bearer t"},
      {"GET", "/v1/pods", "get /v1/pods [] Bearer t"},
      {"GET", "/v1/pods?namespace=ml&manifest=x", "get /v1/pods [] Bearer t"},
      {"GET", "/v1/%70ods?namespace=m%6C", "get /v1/pods [ml] Bearer t"},
      {"GET", "/livez", ""},
      {"GET", "/", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(request(row.method, row.target).status, 200) << row.target;
    EXPECT_EQ(access_.asked, row.asked) << row.method << " " << row.target;
  }
}

TEST_F(HttpAccessTest, WhoeverMayReadOnlyOwnPodsGetsOnlyThese) {
  EXPECT_EQ(request("GET", "/v1/pods?namespace=ml").body, "all");
  access_.answer.level = Level::kOwnPods;
  EXPECT_EQ(request("GET", "/v1/pods?namespace=ml").body, "own");
}

TEST_F(HttpAccessTest, ARefusalIsSentWithItsStatusAndTheHandlerIsNotCalled) {
  for (const int status : {401, 403, 429, 503}) {
    access_.answer = {.level = Level::kNone, .status = status, .sentence = "no"};
    const HttpAnswer answer = request("GET", "/v1/nodes");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.body, R"({"Error":"no"})");
    EXPECT_EQ(answer.headers.count("www-authenticate"), status == 401 ? 1U : 0U);
    EXPECT_EQ(request("GET", "/livez").status, 200);
  }
}

}  // namespace
}  // namespace snug::testing::http_access_test
