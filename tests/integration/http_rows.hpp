// What tests of bad requests share: the rows of their tables, and requests put together by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "integration/http_client.hpp"

namespace snug::testing {

struct BadRow {
  std::string name;
  std::string request;  // or its body alone
  int status;
  std::string sentence;
};

inline std::string head(const std::string& line, const std::string& headers) {
  return line + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n" + headers + "\r\n";
}

inline std::string many_headers(int count, std::size_t bytes = 1) {
  std::string headers;
  for (int i = 0; i < count; ++i) {
    headers += "X-" + std::to_string(i) + ": " + std::string(bytes, 'y') + "\r\n";
  }
  return headers;
}

/// The whole body is an object of the verb's shape.
inline void expect_sentence(const HttpAnswer& answer, const std::string& request,
                            const BadRow& row) {
  EXPECT_EQ(answer.status, row.status);
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  ASSERT_TRUE(body.is_object()) << answer.body;
  EXPECT_THAT(body.value("Error", ""), ::testing::HasSubstr(row.sentence));
  const bool filter = request.find(" /filter HTTP") != std::string::npos;
  EXPECT_EQ(body.size(), filter ? 5U : 1U) << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/json; charset=utf-8");
}

}  // namespace snug::testing
