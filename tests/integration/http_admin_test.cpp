// The admin port: routes from a table, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integration/http_client.hpp"
#include "snug/adapters/http/admin_server.hpp"

namespace snug::testing::http_admin_test {
namespace {

using ::testing::HasSubstr;

class HttpAdminTest : public ::testing::Test {
 protected:
  HttpAdminTest() { EXPECT_TRUE(server_.start()); }

  HttpAnswer ask(const std::string& request) {
    HttpClient client{server_.port()};
    client.send(request);
    return client.receive(request.starts_with("HEAD")).value_or(HttpAnswer{});
  }
  HttpAnswer get(const std::string& target) {
    return ask("GET " + target + " HTTP/1.1\r\nHost: t\r\n\r\n");
  }

  static http::AdminReply echo(const http::AdminRequest& request) {
    std::string text = request.path;
    for (const auto& [key, value] : request.variables) text += " " + key + "=" + value;
    for (const auto& [key, value] : request.query) text += " ?" + key + "=" + value;
    return {.body = text, .content_type = "text/plain"};
  }

  http::AdminServer server_{
      {{"GET", "/livez", "alive", echo},
       {"GET", "/v1/nodes", "nodes", echo, {"name", "x"}},
       {"GET", "/v1/broken", "throws",
        [](const http::AdminRequest&) -> http::AdminReply { throw std::runtime_error("secret"); }},
       {"GET", "/v1/busy", "says so",
        [](const http::AdminRequest&) { return http::AdminReply{503, "no"}; }},
       {"DELETE", "/v1/pods/{namespace}/{name}", "ends a pod", echo}},
      nullptr,
      {},
      {}};
};

TEST_F(HttpAdminTest, RoutesAreFoundWithTheirVariablesAndQueries) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/livez", "/livez"},
      {"/v1/nodes?x", "/v1/nodes ?x="},
      {"/v1/nodes?name=n%201&x=", "/v1/nodes ?name=n 1 ?x="},
  };
  for (const auto& [target, body] : rows) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 200) << target;
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  }
  const HttpAnswer deleted = ask("DELETE /v1/pods/ml/train-0 HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body, "/v1/pods/ml/train-0 name=train-0 namespace=ml");
}

TEST_F(HttpAdminTest, UnknownPathsAndWrongMethodsSaySo) {
  for (const std::string target : {"/nope", "/livez/", "/v1/pods/ml", "/v1/pods//x", "/v1", "//"}) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_THAT(answer.body, HasSubstr("GET / lists the endpoints")) << target;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json; charset=utf-8");
  }
  for (const std::string line : {"POST /livez", "DELETE /livez", "GET /v1/pods/a/b"}) {
    const HttpAnswer answer = ask(line + " HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_EQ(answer.status, 405) << line;
    EXPECT_THAT(answer.headers.at("allow"), HasSubstr(line.starts_with("GET") ? "DELETE" : "GET"));
  }
}

TEST_F(HttpAdminTest, QueriesThatTheRouteDoesNotTakeAreRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/v1/busy?x", "the query of /v1/busy has the unknown key \\\"x\\\"; no keys are allowed"},
      {"/v1/nodes?nmae=n1",
       "the query of /v1/nodes has the unknown key \\\"nmae\\\"; allowed keys: name, x"},
      {"/v1/nodes?name=a&name=b", "the query of /v1/nodes has the key name more than once"},
  };
  for (const auto& [target, sentence] : rows) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_THAT(answer.body, HasSubstr(sentence));
  }
  EXPECT_EQ(get("/livez?verbose").status, 200) << "a probe may add what it likes";
}

TEST_F(HttpAdminTest, BodiesAndRangesAreRefusedAndNotReadAsRequests) {
  for (const std::string headers : {"Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
                                    "Range: bytes=0-1\r\n", "Content-Length: abc\r\n"}) {
    HttpClient client{server_.port()};
    client.send("DELETE /v1/pods/a/b HTTP/1.1\r\nHost: t\r\n" + headers + "\r\nhello" +
                "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_EQ(client.receive().value_or(HttpAnswer{}).status, 400) << headers;
    EXPECT_TRUE(client.wait_closed()) << headers;
  }
}

TEST_F(HttpAdminTest, HeadIsServedLikeGetWithoutTheBody) {
  const HttpAnswer answer = ask("HEAD /livez HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-length"), "6");
}

TEST_F(HttpAdminTest, TheRootListsEveryEndpoint) {
  const auto list = nlohmann::json::parse(get("/").body, nullptr, false);
  ASSERT_TRUE(list.is_object());
  std::vector<std::string> lines;
  for (const auto& row : list.at("endpoints")) {
    lines.push_back(row.at("method").get<std::string>() + " " + row.at("path").get<std::string>());
  }
  EXPECT_THAT(
      lines, ::testing::ElementsAre("GET /livez", "GET /v1/nodes", "GET /v1/broken", "GET /v1/busy",
                                    "DELETE /v1/pods/{namespace}/{name}", "GET /"));
}

TEST_F(HttpAdminTest, TheRootIsTheDashboardForThoseWhoAcceptHtml) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {"text/html", true},
      {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
      {"application/json, TEXT/HTML;q=0.1", true},
      {"text/html ; level=1 ; q=0.05", true},
      {"text/html;q=0", false},
      {"text/html; Q=0.000;x=1, application/json", false},
      {"*/*", false},
      {"text/*", false},
      {"text/htmlx", false},
      {"application/json;x=text/html", false},
      {" , ;", false},
      {"", false},
  };
  for (const auto& [accept, is_page] : rows) {
    const HttpAnswer answer = ask("GET / HTTP/1.1\r\nHost: t\r\nAccept: " + accept + "\r\n\r\n");
    EXPECT_EQ(answer.status, 200) << accept;
    EXPECT_EQ(answer.headers.at("vary"), "Accept") << accept;
    EXPECT_EQ(answer.headers.at("content-type"),
              is_page ? "text/html; charset=utf-8" : "application/json; charset=utf-8")
        << accept;
    EXPECT_EQ(answer.body.starts_with("<!doctype html>"), is_page) << accept;
    EXPECT_EQ(answer.headers.contains("content-security-policy"), is_page) << accept;
  }
}

TEST_F(HttpAdminTest, AHandlersStatusIsKeptAndItsExceptionIsNotShown) {
  EXPECT_EQ(get("/v1/busy").status, 503);
  EXPECT_EQ(get("/v1/busy").body, "no");
  const HttpAnswer broken = get("/v1/broken");
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(broken.body.find("secret"), std::string::npos);
}

TEST_F(HttpAdminTest, TooManyHeadersAreRefused) {
  std::string request = "GET /livez HTTP/1.1\r\nHost: t\r\n";
  for (int i = 0; i < 101; ++i) request += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(ask(request + "\r\n").status, 431);
}

TEST_F(HttpAdminTest, ProbesOnOneConnectionAreAllAnswered) {
  HttpClient client{server_.port()};
  for (int i = 0; i < 100; ++i) {
    client.send("GET /livez HTTP/1.1\r\nHost: t\r\n\r\n");
    ASSERT_EQ(client.receive().value_or(HttpAnswer{}).status, 200) << i;
  }
}

}  // namespace
}  // namespace snug::testing::http_admin_test
