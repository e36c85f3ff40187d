// Bad requests to the admin port of the whole product: each gets its sentence, and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"
#include "integration/http_rows.hpp"

namespace snug::testing::http_bad_admin_input_test {
namespace {

using ::testing::HasSubstr;

std::vector<BadRow> bad_admin_requests() {
  const auto line = [](const std::string& text, const std::string& headers = "") {
    return text + " HTTP/1.1\r\nHost: t\r\n" + headers + "\r\n";
  };
  const std::string end = "DELETE /v1/pods/d/held";
  return {
      {"an unknown path", line("GET /nope"), 404, "GET / lists the endpoints"},
      {"a verb of the other port", line("POST /bind"), 404, "GET / lists the endpoints"},
      {"a pod without a name", line("DELETE /v1/pods/d/"), 404, "GET / lists the endpoints"},
      {"the wrong method", line("POST /v1/nodes"), 405, "must be GET"},
      {"another wrong method", line("GET /v1/pods/d/held"), 405, "must be DELETE"},
      {"a body", line(end, "Content-Length: 2\r\n") + "{}", 400, "must have no body"},
      {"length abc", line(end, "Content-Length: abc\r\n"), 400, "must have no body"},
      {"chunked", line(end, "Transfer-Encoding: chunked\r\n") + "2\r\n{}\r\n0\r\n\r\n", 400,
       "must have no body"},
      {"a range", line(end, "Range: bytes=0-1\r\n"), 400, "no Range header"},
      {"101 headers", line(end, many_headers(101)), 431, "more than the 100 headers"},
      {"10,000 headers", line(end, many_headers(10'000)), 431, "bytes that are allowed"},
      {"a header of 9,000 bytes", line(end, "X: " + std::string(9'000, 'x') + "\r\n"), 431,
       "a header is longer than the 8192 bytes"},
      {"a long path", line("GET /" + std::string(10'000, 'x')), 414, "path is too long"},
      {"an unknown query key", line("GET /v1/nodes?nmae=n1"), 400, "allowed keys: name"},
      {"a query key too many", line("GET /v1/nodes?name=n1&x=1"), 400, "allowed keys: name"},
      {"a query key twice", line("GET /v1/nodes?name=n1&name=n2"), 400, "name more than once"},
      {"a query where none is", line("GET /v1/cluster?name=held"), 400, "no keys are allowed"},
      {"a query of a deletion", line(end + "?force=true"), 400, "no keys are allowed"},
      {"no Host", end + " HTTP/1.1\r\n\r\n", 400, "Host is missing"},
      {"Host :", end + " HTTP/1.1\r\nHost : t\r\n\r\n", 400, "no blank before the colon"},
      {"a folded header", line(end, "X: a\r\n\tb\r\n"), 400, "one line"},
      {"NUL", line(end, std::string("X: \0\r\n", 6)), 400, "a control character"},
      {"another expectation", line(end, "Expect: 100-continues\r\n"), 417, "Expect"},
      {"no HTTP", "hello there\r\n\r\n", 400, "not valid HTTP"},
  };
}

TEST(HttpBadAdminInputTest, WhatIsRefusedLosesItsConnectionAndWhatStandsBehindIt) {
  ServedSnug served;
  const std::string state = served.state();
  for (const BadRow& row : bad_admin_requests()) {
    SCOPED_TRACE(row.name);
    HttpClient client{served.admin_port()};
    client.send(row.request + "DELETE /v1/pods/d/held HTTP/1.1\r\nHost: t\r\n\r\n");
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    expect_sentence(*answer, row.request, row);
    EXPECT_TRUE(client.wait_closed());
    EXPECT_EQ(served.state(), state);
  }
}

TEST(HttpBadAdminInputTest, UnknownNamesAreSaidAndChangeNothing) {
  const std::vector<BadRow> rows = {
      {"a node", "GET /v1/nodes?name=nope", 404, "Snug does not know a node of this name"},
      {"no node", "GET /v1/nodes?name=", 404, "Snug does not know a node of this name"},
      {"a pod", "DELETE /v1/pods/d/nobody", 404, "no pod of this name"},
      {"a namespace", "DELETE /v1/pods/nowhere/held", 404, "no pod of this name"},
      {"no text", "DELETE /v1/pods/d/%ff%00", 404, "no pod of this name"},
  };
  ServedSnug served;
  const std::string state = served.state();
  for (const BadRow& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string request = row.request + " HTTP/1.1\r\nHost: t\r\n\r\n";
    const HttpAnswer answer = ServedSnug::ask(served.admin_port(), request);
    EXPECT_EQ(answer.status, row.status);
    EXPECT_THAT(answer.body, HasSubstr(row.sentence));
    EXPECT_EQ(served.state(), state);
  }
}

TEST(HttpBadAdminInputTest, TheUidOfADeletedPodIsNotUsedAgain) {
  ServedSnug served;
  const HttpAnswer ended =
      ServedSnug::ask(served.admin_port(), "DELETE /v1/pods/d/waiting HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(ended.status, 200);
  const std::string state = served.state();
  const HttpAnswer again = ServedSnug::ask(served.port(), post_text("/filter", kGpuFilter));
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("the uid u-waiting belonged to the pod d/waiting"));
  EXPECT_EQ(served.state(), state);
}

}  // namespace
}  // namespace snug::testing::http_bad_admin_input_test
