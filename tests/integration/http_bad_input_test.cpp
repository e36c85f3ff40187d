// Bad requests: each gets its status and a body of the verb's shape with a sentence, reaches no
// handler, and leaves the server serving.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"

namespace snug::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead = "Host: test\r\nContent-Type: application/json\r\n";

struct BadRow {
  std::string name;
  std::string request;
  int status;
  std::string sentence;
};

std::string head(const std::string& line, const std::string& headers) {
  return line + " HTTP/1.1\r\n" + kHead + headers + "\r\n";
}

std::string many_headers(int count) {
  std::string headers;
  for (int i = 0; i < count; ++i) headers += "X-" + std::to_string(i) + ": y\r\n";
  return headers;
}

const std::vector<BadRow>& refused_unread() {
  static const std::vector<BadRow> kRows = {
      {"empty body", head("POST /filter", "Content-Length: 0\r\n"), 400, "the body is empty"},
      {"no length", head("POST /filter", ""), 411, "Content-Length is missing"},
      {"length abc", head("POST /filter", "Content-Length: abc\r\n"), 400, "must be a number"},
      {"length -1", head("POST /filter", "Content-Length: -1\r\n"), 400, "must be a number"},
      {"length +5", head("POST /filter", "Content-Length: +5\r\n"), 400, "must be a number"},
      {"length 0x5", head("POST /filter", "Content-Length: 0x5\r\n"), 400, "must be a number"},
      {"length list", head("POST /filter", "Content-Length: 5, 5\r\n"), 400, "must be a number"},
      {"overflowing length", head("POST /filter", "Content-Length: 99999999999999999999\r\n"), 413,
       "larger than the 65536 bytes"},
      {"over the limit", head("POST /bind", "Content-Length: 65537\r\n"), 413,
       "larger than the 65536 bytes"},
      {"two lengths", head("POST /filter", "Content-Length: 5\r\nContent-Length: 6\r\n"), 400,
       "more than once"},
      {"the same length twice", head("POST /filter", "Content-Length: 5\r\nContent-Length: 5\r\n"),
       400, "more than once"},
      {"chunked",
       head("POST /filter", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n", 411,
       "Transfer-Encoding is not accepted"},
      {"chunked with a length",
       head("POST /filter", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 411,
       "Transfer-Encoding is not accepted"},
      {"gzip", head("POST /filter", "Content-Encoding: gzip\r\nContent-Length: 5\r\n") + "hello",
       415, "Content-Encoding is not accepted"},
      {"plain text",
       "POST /filter HTTP/1.1\r\nHost: t\r\nContent-Type: text/plain\r\nContent-Length: "
       "2\r\n\r\n{}",
       415, "must be application/json"},
      {"no type", "POST /prioritize HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}", 415,
       "must be application/json"},
      {"almost the type",
       "POST /filter HTTP/1.1\r\nContent-Type: application/json5\r\nContent-Length: 2\r\n\r\n{}",
       415, "must be application/json"},
      {"a form",
       "POST /filter HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\n"
       "Content-Length: 2\r\n\r\n{}",
       415, "must be application/json"},
      {"a range", head("POST /filter", "Range: bytes=0-3\r\nContent-Length: 2\r\n"), 400,
       "Range is not accepted"},
      {"a bad range", head("POST /filter", "Range: bytes=0-3,x\r\nContent-Length: 2\r\n"), 416,
       "Range is not accepted"},
      {"GET", head("GET /filter", ""), 405, "must be POST"},
      {"PUT", head("PUT /bind", "Content-Length: 2\r\n"), 405, "must be POST"},
      {"DELETE", head("DELETE /prioritize", ""), 405, "must be POST"},
      {"an unknown path", head("POST /filters", "Content-Length: 2\r\n"), 404, "/filter"},
      {"the root", head("POST /", "Content-Length: 2\r\n"), 404, "/filter"},
      {"101 headers", head("POST /filter", "Content-Length: 2\r\n" + many_headers(98)), 431,
       "more than the 100 headers"},
      {"10,000 headers", head("POST /filter", "Content-Length: 2\r\n" + many_headers(10'000)), 431,
       "headers than are allowed"},
      {"a huge header", head("POST /filter", "X: " + std::string(100'000, 'x') + "\r\n"), 431,
       "headers than are allowed"},
      {"a long path", head("POST /" + std::string(10'000, 'x'), ""), 414, "path is too long"},
      {"no HTTP", "hello there\r\n\r\n", 400, "no valid HTTP"},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "no valid HTTP"},
  };
  return kRows;
}

/// The whole body is an object of the verb's shape.
void expect_shape(const HttpAnswer& answer, const std::string& request, const BadRow& row) {
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(body.is_object()) << row.name << ": " << answer.body;
  EXPECT_THAT(body.value("Error", ""), HasSubstr(row.sentence)) << row.name;
  const bool filter = request.find(" /filter HTTP") != std::string::npos;
  EXPECT_EQ(body.size(), filter ? 5U : 1U) << row.name << ": " << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/json; charset=utf-8") << row.name;
}

Limits small_limits() {
  Limits limits;
  limits.max_body_bytes = 65'536;
  return limits;
}

TEST(HttpBadInputTest, WhatIsRefusedUnreadGetsItsSentenceAndLosesItsConnection) {
  ServedExtender served{small_limits()};
  for (const BadRow& row : refused_unread()) {
    HttpClient client{served.port()};
    client.send(row.request);
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << row.name;
    EXPECT_EQ(answer->status, row.status) << row.name;
    expect_shape(*answer, row.request, row);
    EXPECT_EQ(answer->headers.at("connection"), "close") << row.name;
    EXPECT_TRUE(client.wait_closed()) << row.name;
  }
  EXPECT_EQ(served.understood, 0);
  HttpClient client{served.port()};
  client.post("/filter", kGoodFilter);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, kAllNodes);
}

TEST(HttpBadInputTest, NothingAfterARefusedRequestIsReadAsAnother) {
  ServedExtender served{small_limits()};
  for (const BadRow& row : refused_unread()) {
    HttpClient client{served.port()};
    client.send(row.request + post_text("/bind", kGoodBind) + post_text("/bind", kGoodBind));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << row.name;
    EXPECT_EQ(answer->status, row.status) << row.name;
    EXPECT_TRUE(client.wait_closed()) << row.name;
  }
  EXPECT_EQ(served.understood, 0);
}

TEST(HttpBadInputTest, AnEndlessFirstLineIsCutOff) {
  ServedExtender served;
  HttpClient client{served.port()};
  client.send("POST /" + std::string(1'000'000, 'x'));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 431);
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpBadInputTest, AHeadRequestIsRefusedWithoutABody) {
  ServedExtender served;
  HttpClient client{served.port()};
  client.send("HEAD /filter HTTP/1.1\r\nHost: test\r\n\r\n");
  const auto answer = client.receive(true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->headers.at("allow"), "POST");
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpBadInputTest, ABodyThatCannotBeUnderstoodIsRefusedAndTheConnectionGoesOn) {
  const std::string good{kGoodFilter};
  const std::vector<BadRow> rows = {
      {"truncated", good.substr(0, good.size() - 10), 400, "not valid JSON"},
      {"no JSON", "hello", 400, "not valid JSON"},
      {"a list", "[]", 400, "must be an object"},
      {"10,000 deep", R"({"x":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}", 400,
       "nested too deep"},
      {"NodeNames twice", good.substr(0, good.size() - 1) + R"(,"nodenames":[]})", 400,
       "given twice"},
      {"invalid UTF-8", "{\"Pod\":\"\xff\"}", 400, "not valid UTF-8"},
      {"Pod null", R"({"Pod":null,"NodeNames":[]})", 400, "Pod is missing or null"},
      {"neither list", R"({"Pod":{"metadata":{"name":"p","namespace":"d"}}})", 400, "neither of"},
      {"both lists", good.substr(0, good.size() - 1) + R"(,"Nodes":{"items":[]}})", 400, "both of"},
  };
  ServedExtender served;
  HttpClient client{served.port()};
  for (const BadRow& row : rows) {
    // The good request behind it is sent at once, and must be answered for itself.
    const std::string request = post_text("/filter", row.request);
    client.send(request + post_text("/filter", kGoodFilter));
    const auto refused = client.receive();
    ASSERT_TRUE(refused) << row.name;
    EXPECT_EQ(refused->status, row.status) << row.name;
    expect_shape(*refused, request, row);
    const auto answered = client.receive();
    ASSERT_TRUE(answered) << row.name;
    EXPECT_EQ(answered->body, kAllNodes) << row.name;
  }
  EXPECT_EQ(served.understood, static_cast<int>(rows.size()));
}

TEST(HttpBadInputTest, AsManyHeadersAsAreAllowedAreAccepted) {
  ServedExtender served;
  HttpClient client{served.port()};
  const std::string body{kGoodFilter};
  client.send(head("POST /filter",
                   "Content-Length: " + std::to_string(body.size()) + "\r\n" + many_headers(97)) +
              body);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(HttpBadInputTest, ABodyOfExactlyTheLimitIsRead) {
  Limits limits;
  limits.max_body_bytes = 65'536;
  ServedExtender served{limits};
  std::string body{kGoodFilter};
  body.append(65'536 - body.size(), ' ');
  HttpClient client{served.port()};
  client.post("/filter", body);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, kAllNodes);
}

TEST(HttpBadInputTest, AnExceptionInAHandlerLeaksNothingAndIsReported) {
  std::string told;
  ServedExtender served{{}, {.on_problem = [&](std::string_view text) { told = text; }}};
  served.meanwhile = [] { throw std::runtime_error("secret-token-123"); };
  HttpClient client{served.port()};
  client.post("/filter", kGoodFilter);
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_THAT(answer->body, HasSubstr("an internal error"));
  for (const auto& [key, value] : answer->headers) {
    EXPECT_EQ(value.find("secret"), std::string::npos) << key;
  }
  EXPECT_EQ(answer->body.find("secret"), std::string::npos);
  EXPECT_TRUE(client.wait_closed());
  served.server().stop();
  EXPECT_THAT(told, HasSubstr("secret-token-123"));
}

TEST(HttpBadInputTest, AnAddressThatCannotBeBoundIsNamed) {
  ServedExtender served;
  ExtenderServer second{{}, {.port = served.port()}, {}};
  const auto taken = second.start();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message,
              HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(served.port())));
  ExtenderServer foreign{{}, {.host = "192.0.2.1"}, {}};
  const auto absent = foreign.start();
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("cannot listen on 192.0.2.1:0"));
}

}  // namespace
}  // namespace snug::testing
