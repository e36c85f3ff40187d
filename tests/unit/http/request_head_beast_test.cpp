// The parser of heads against an independent one, Boost.Beast's: what ours accepts means the same
// to both. Beast accepts more (kOnlyBeast), which is why it is not the port's parser (decision 8).
// It also checks Content-Length, which the servers do in this product: no head here has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/request_head.hpp"
#include "support/random.hpp"

namespace snug::request_head_beast_test {
namespace {

namespace http = boost::beast::http;

std::optional<http::request<http::empty_body>> read_by_beast(const std::string& head) {
  http::request_parser<http::empty_body> parser;
  parser.body_limit(boost::none);
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(head), error);
  if (error || !parser.is_header_done()) return std::nullopt;
  return parser.get();
}

std::string_view text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

TEST(RequestHeadBeastTest, WhatIsAcceptedMeansTheSameToBoth) {
  constexpr std::string_view kBytes("\r\n \t:,=?%/.aZ1\0\x7f\x80()\"", 22);
  const std::vector<std::string> lines{
      "Host: a\r\n", "X-Y: b c\t\r\n",           "Accept:*/*\r\n",
      "X: \r\n",     "Expect: 100-continue\r\n", "Connection: close\r\n"};
  constexpr std::uint64_t kSeed = 15;
  Random random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string head = "POST /filter?a=b HTTP/1.1\r\nHost: a\r\n";
    for (std::size_t i = random.below(4); i > 0; --i) head += random.pick(lines);
    head += "\r\n";
    for (std::size_t edits = random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(head.size() - 4);
      if (random.one_in(2)) head.erase(at, 1);
      if (random.one_in(2)) head.insert(at, 1, kBytes[random.below(kBytes.size())]);
    }
    const auto ours = snug::http::read_head(head, {});
    if (!ours) continue;
    const auto theirs = read_by_beast(head);
    ASSERT_TRUE(theirs) << "seed " << kSeed << ", round " << round << ":\n" << head;
    ++accepted;
    EXPECT_EQ(ours->method, text_of(theirs->method_string())) << head;
    // Beast keeps headers of one name together.
    std::vector<std::pair<std::string_view, std::string_view>> fields;
    for (const auto& field : *theirs) {
      fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
    }
    std::vector<std::pair<std::string_view, std::string_view>> headers;
    for (const auto& header : ours->headers) headers.emplace_back(header.name, header.value);
    EXPECT_THAT(headers, ::testing::UnorderedElementsAreArray(fields)) << head;
  }
  EXPECT_GT(accepted, 5'000);
}

TEST(RequestHeadBeastTest, BeastAcceptsWhatServersAndProxiesReadInDifferentWays) {
  const std::string line = "GET / HTTP/1.1\r\n";
  const std::vector<std::string> kOnlyBeast{
      line + "\r\n",                               // no Host
      line + "Host: a\r\nHost: b\r\n\r\n",         // two Hosts
      line + "Host: a\r\nX: a\r\n b\r\n\r\n",      // a header in two lines
      line + "Host: a\r\nExpect: 200-ok\r\n\r\n",  // an unknown expectation
  };
  for (const std::string& head : kOnlyBeast) {
    EXPECT_FALSE(snug::http::read_head(head, {})) << head.substr(0, 100);
    EXPECT_TRUE(read_by_beast(head)) << head.substr(0, 100);
  }
}

}  // namespace
}  // namespace snug::request_head_beast_test
