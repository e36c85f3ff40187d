// What makes a head no valid one, and where it ends.
#include "adapters/http/head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace snug::head_test {
namespace {

using ::testing::HasSubstr;

std::string with(const std::string& headers) {
  return "POST /filter?x=1 HTTP/1.1\r\n" + headers + "\r\n";
}

TEST(HeadTest, HeadsThatAreValid) {
  Limits limits;
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
    EXPECT_TRUE(read_head(head, limits)) << head;
  }
}

TEST(HeadTest, HeadsThatAreNot) {
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
      {with("Host: a" + nul + "\r\n"), 400, "a NUL"},
      {with("Host: a\r\nX" + nul + ": a\r\n"), 400, "a NUL"},
      {"GET /" + nul + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "a NUL"},
      {with("Host: a\r\nX: a\rb\r\n"), 400, "a CR"},
      {with("Host: a\nX: a\r\n"), 400, "CR LF"},
      {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "CR LF"},
      {with("Host: a\r\nExpect: 200-ok\r\n"), 417, "100-continue"},
      {with("Host: a\r\nexpect:100-continue, x\r\n"), 417, "100-continue"},
      {with("Host: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n"), 417, "once"},
      {with("Host: a\r\nA: a\r\nB: b\r\nC: c\r\n"), 431, "more than the 3 headers"},
      {with("Host: a\r\nX:" + std::string(8'189, 'x') + "\r\n"), 431, "longer than the 8192"},
      {with("Host: a\r\nX:" + std::string(70'000, 'x')), 431, "longer than the 8192"},
      {std::string(70'000, 'x'), 431, "larger than the 65536 bytes"},
      {"GET /" + std::string(65'536, 'x') + "\r\n\r\n", 431, "larger than the 65536 bytes"},
  };
  Limits limits;
  limits.max_headers = 3;
  for (const Row& row : rows) {
    const auto head = read_head(row.head, limits);
    ASSERT_FALSE(head) << row.head;
    EXPECT_EQ(head.error().status, row.status) << row.head;
    EXPECT_THAT(head.error().sentence, HasSubstr(row.sentence)) << row.head;
  }
}

TEST(HeadTest, WhatItAsksFor) {
  const std::string head = with("Host: a\r\nEXPECT:\t100-Continue \r\nX: y\r\n");
  const auto facts = read_head(head, {});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->method, "POST");
  EXPECT_EQ(facts->path, "/filter");
  EXPECT_EQ(facts->expect, "EXPECT:\t100-Continue \r\n");
  EXPECT_EQ(read_head(with("Host: a\r\n"), {})->expect, "");
  for (const auto& [line, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET /livez HTTP/1.1\r\nX: ", "/livez"},
                                                        {"GET /livez", "/livez"},
                                                        {"GET", ""},
                                                        {"", ""}}) {
    EXPECT_EQ(read_first_line(line).path, path) << line;
  }
}

TEST(HeadTest, ItEndsAtTheSamePlaceHoweverItComes) {
  const std::string head = with("Host: a\r\nX: \r\n");
  const std::string bytes = head + "\r\n\r\nbody";
  std::size_t seen = 0;
  for (std::size_t size = 0; size < head.size(); seen = size++) {
    ASSERT_EQ(find_head_end(bytes.substr(0, size), seen), std::nullopt) << size;
  }
  for (seen = 0; seen < head.size(); ++seen) {
    EXPECT_EQ(find_head_end(bytes, seen), head.size()) << seen;
  }
  EXPECT_EQ(find_head_end("\r\nGET", 0), 2U);
}

}  // namespace
}  // namespace snug::head_test
