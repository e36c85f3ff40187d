// What makes a head no valid one, and where it ends.
#include "adapters/http/request_head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace snug::request_head_test {
namespace {

using ::testing::HasSubstr;

std::string with(const std::string& headers) {
  return "POST /filter?x=1 HTTP/1.1\r\n" + headers + "\r\n";
}

TEST(RequestHeadTest, HeadsThatAreValid) {
  base::Limits limits;
  limits.max_headers = 3;
  for (const std::string& head : {
           with("Host: a\r\n"),
           with("host:a\r\nX-Y_z: \r\n"),
           with("Host:\r\n"),
           with("Host: a\r\nExpect:\r\n"),
           with("Host: a\r\nX: a:b\t c\r\nY: \xc3\xa4\r\n"),
           std::string{"GET /livez HTTP/1.0\r\n\r\n"},
           with("Host: a\r\nX:" + std::string(8'188, 'x') + "\r\n"),
       }) {
    EXPECT_TRUE(http::read_head(head, limits)) << head;
  }
}

TEST(RequestHeadTest, HeadsThatAreNot) {
  struct Row {
    std::string head;
    int status;
    std::string sentence;
  };
  const std::string nul(1, '\0');
  const std::vector<Row> rows = {
      {with(""), 400, "Host is missing"},
      {with("X: Host: a\r\n"), 400, "Host is missing"},
      {with("Host: a\r\nhost: a\r\n"), 400, "Host came more than once"},
      {with("Host : a\r\n"), 400, "no blank before the colon"},
      {with("Host: a\r\nX\t: a\r\n"), 400, "no blank before the colon"},
      {with("Host: a\r\n: a\r\n"), 400, "NAME: VALUE"},
      {with("Host: a\r\nnothing\r\n"), 400, "NAME: VALUE"},
      {with("Host: a\r\nX: a\r\n b\r\n"), 400, "second line"},
      {with("Host: a\r\nX: a\r\n\tb: c\r\n"), 400, "second line"},
      {with(" Host: a\r\n"), 400, "second line"},
      {with("Host: a" + nul + "\r\n"), 400, "a control character"},
      {with("Host: a\r\nX" + nul + ": a\r\n"), 400, "a control character"},
      {"GET /" + nul + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "a control character"},
      {with("Host: a\r\nX: a\rb\r\n"), 400, "a control character"},
      {with("Host: a\nX: a\r\n"), 400, "CR LF"},
      {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "CR LF"},
      {"GET /\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "not valid HTTP/1.1"},
      {"\r\n", 400, "not valid HTTP/1.1"},
      {with("Host: a\r\nConnection: keep alive\r\n"), 400, "a list of names"},
      {"GET /" + std::string(8'192, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414, "path is too long"},
      {with("Host: a\r\nExpect: 200-ok\r\n"), 417, "100-continue"},
      {with("Host: a\r\nexpect:100-continue, x\r\n"), 417, "100-continue"},
      {with("Host: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n"), 417, "once"},
      {with("Host: a\r\nA: a\r\nB: b\r\nC: c\r\n"), 431, "more than the 3 headers"},
      {with("Host: a\r\nX:" + std::string(8'189, 'x') + "\r\n"), 431, "longer than the 8192"},
      {with("Host: a\r\nX:" + std::string(70'000, 'x')), 431, "longer than the 8192"},
      {std::string(70'000, 'x'), 431, "larger than the 65536 bytes"},
      {"GET /" + std::string(65'536, 'x') + "\r\n\r\n", 431, "larger than the 65536 bytes"},
  };
  base::Limits limits;
  limits.max_headers = 3;
  for (const Row& row : rows) {
    const auto head = http::read_head(row.head, limits);
    ASSERT_FALSE(head) << row.head;
    EXPECT_EQ(head.error().status, row.status) << row.head;
    EXPECT_THAT(head.error().sentence, HasSubstr(row.sentence)) << row.head;
  }
}

TEST(RequestHeadTest, WhatIsReadFromIt) {
  const std::string text =
      "GET /v1/pods/d/a%20b%2f%zz?name=a+b%26c&&flag&x=1=2 HTTP/1.1\r\n"
      "Host: a\r\nEXPECT:\t100-Continue \r\nX: y\r\nx: z\r\n\r\n";
  const auto head = http::read_head(text, {});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->path, "/v1/pods/d/a b/%zz");
  const std::vector<std::pair<std::string, std::string>> query{
      {"name", "a b&c"}, {"flag", ""}, {"x", "1=2"}};
  EXPECT_EQ(head->query, query);
  EXPECT_TRUE(head->expects_continue);
  EXPECT_EQ(head->count("x"), 2U);
  EXPECT_EQ(head->value("X"), "y");
  EXPECT_EQ(head->value("Y"), "");
  EXPECT_FALSE(http::read_head(with("Host: a\r\n"), {})->expects_continue);
}

TEST(RequestHeadTest, WhetherTheConnectionGoesOn) {
  struct Row {
    std::string version, connection;
    bool keep_alive;
  };
  for (const Row& row : std::vector<Row>{{"HTTP/1.1", "", true},
                                         {"HTTP/1.1", "Connection: upgrade, keep-alive\r\n", true},
                                         {"HTTP/1.1", "Connection: Close\r\n", false},
                                         {"HTTP/1.1", "Connection: upgrade , close\r\n", false},
                                         {"HTTP/1.0", "", false},
                                         {"HTTP/1.0", "Connection: Keep-Alive\r\n", false}}) {
    const auto head =
        http::read_head("GET / " + row.version + "\r\nHost: a\r\n" + row.connection + "\r\n", {});
    ASSERT_TRUE(head);
    EXPECT_EQ(head->keep_alive, row.keep_alive) << row.version << " " << row.connection;
  }
}

TEST(RequestHeadTest, ThePathOfABrokenHead) {
  for (const auto& [line, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET /livez HTTP/1.1\r\nX: ", "/livez"},
                                                        {"GET /livez", "/livez"},
                                                        {"GET", ""},
                                                        {"", ""}}) {
    EXPECT_EQ(http::read_request_line(line).path, path) << line;
  }
}

TEST(RequestHeadTest, ItEndsAtTheSamePlaceHoweverItComes) {
  const std::string head = with("Host: a\r\nX: \r\n");
  const std::string bytes = head + "\r\n\r\nbody";
  std::size_t seen = 0;
  for (std::size_t size = 0; size < head.size(); seen = size++) {
    ASSERT_EQ(http::find_head_end(bytes.substr(0, size), seen), std::nullopt) << size;
  }
  for (seen = 0; seen < head.size(); ++seen) {
    EXPECT_EQ(http::find_head_end(bytes, seen), head.size()) << seen;
  }
  EXPECT_EQ(http::find_head_end("\r\nGET", 0), 2U);
}

}  // namespace
}  // namespace snug::request_head_test
