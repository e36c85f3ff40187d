// Requests at the edge of what is allowed, and how the extender port itself fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"
#include "integration/http_rows.hpp"

namespace snug::testing::http_head_test {
namespace {

using ::testing::HasSubstr;

TEST(HttpHeadTest, AnEndlessFirstLineIsCutOff) {
  ServedSnug served;
  HttpClient client{served.port()};
  client.send("POST /" + std::string(1'000'000, 'x'));
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 431);
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpHeadTest, AHeadRequestIsRefusedWithoutABody) {
  ServedSnug served;
  HttpClient client{served.port()};
  client.send("HEAD /filter HTTP/1.1\r\nHost: test\r\n\r\n");
  const auto answer = client.receive(true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->headers.at("allow"), "POST");
  EXPECT_TRUE(client.wait_closed());
}

TEST(HttpHeadTest, AsManyAndAsLongHeadersAsAreAllowedAreAccepted) {
  const std::string body{kGoodFilter};
  for (const std::string& headers :
       {many_headers(97), "X: " + std::string(8'187, 'x') + "\r\n", many_headers(7, 8'000)}) {
    ServedSnug served;
    const HttpAnswer answer = ServedSnug::ask(
        served.port(),
        head("POST /filter", "Content-Length: " + std::to_string(body.size()) + "\r\n" + headers) +
            body);
    EXPECT_EQ(answer.body, kAllNodes);
  }
}

TEST(HttpHeadTest, ABodyOfExactlyTheLimitIsRead) {
  base::Limits limits;
  limits.max_body_bytes = 65'536;
  ServedSnug served{limits};
  std::string body{kGoodFilter};
  body.append(65'536 - body.size(), ' ');
  EXPECT_EQ(ServedSnug::ask(served.port(), post_text("/filter", body)).body, kAllNodes);
}

TEST(HttpHeadTest, AnExceptionInAHandlerLeaksNothingAndIsReported) {
  std::string told;
  ServedSnug served{{}, {.on_problem = [&](std::string_view text) { told = text; }}};
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

TEST(HttpListenTest, AnAddressThatCannotBeBoundIsNamed) {
  ServedSnug served;
  const std::string taken = "127.0.0.1:" + std::to_string(served.port());
  const std::vector<std::pair<http::HttpOptions, std::string>> rows = {
      {{.port = served.port()}, "cannot listen on " + taken},
      {{.host = "192.0.2.1"}, "cannot listen on 192.0.2.1:0"},
      {{.host = "2001:db8::1"}, "cannot listen on [2001:db8::1]:0"},
  };
  for (const auto& [options, sentence] : rows) {
    http::ExtenderServer second{{}, options, {}};
    const auto started = second.start();
    ASSERT_FALSE(started) << sentence;
    EXPECT_THAT(started.error().message, HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace snug::testing::http_head_test
