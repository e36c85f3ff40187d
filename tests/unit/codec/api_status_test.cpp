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

}  // namespace
}  // namespace snug::api_status_test
