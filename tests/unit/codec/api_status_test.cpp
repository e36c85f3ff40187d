// The error replies of the API server.
#include "snug/codec/api_status.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/kube_proto.hpp"

namespace snug::api_status_test {
namespace {

TEST(ApiStatusTest, StatusMessagesAreFound) {
  EXPECT_EQ(codec::status_message(R"({"kind":"Status","message":"no such pod"})"), "no such pod");
  EXPECT_EQ(codec::status_message(proto::envelope("Status", proto::bytes_field(3, "no\nrights"))),
            "no rights");
  EXPECT_EQ(codec::status_message(R"({"message":"no\nrights\u007f"})"), "no rights ");
  EXPECT_EQ(codec::status_message("<html>\nbusy"), "<html> busy");
  EXPECT_EQ(codec::status_message(R"({"message":""})"), R"({"message":""})");
  EXPECT_EQ(codec::status_message(""), "no message");
}

TEST(ApiStatusTest, OnlyAnHttpStatusIsItsCode) {
  const auto read = [](const std::string& code) {
    return codec::read_status(R"({"kind":"Status","apiVersion":"v1","code":)" + code + "}");
  };
  for (const int code : {100, 404, 599}) {
    const auto status = read(std::to_string(code));
    ASSERT_TRUE(status.has_value()) << code;
    EXPECT_EQ(status->code, code);
  }
  // 2^32 + 404 and 2^64 - 2^32 + 404 are 404 in their lowest 32 bits.
  for (const char* code : {"4294967700", "18446744069414584724", "-404", "99", "600", "404.0"})
    EXPECT_FALSE(read(code).has_value()) << code;
}

}  // namespace
}  // namespace snug::api_status_test
