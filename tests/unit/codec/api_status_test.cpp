// The names of objects and the error replies of the API server.
#include "snug/codec/api_status.hpp"

#include <gtest/gtest.h>

#include <string>

#include "snug/codec/object_names.hpp"
#include "support/kube_proto.hpp"

namespace snug::api_status_test {
namespace {

TEST(ObjectNamesTest, OnlyKubernetesNamesMayStandInAPath) {
  for (const char* good : {"a", "node-1", "ip-10-0-0-1.ec2.internal", "0"}) {
    EXPECT_TRUE(codec::is_object_name(good)) << good;
  }
  const std::string long_name(254, 'a');
  for (const std::string& bad :
       {std::string(), std::string("../x"), std::string("a/b"), std::string("a?b"),
        std::string("a%2fb"), std::string("A"), std::string("-a"), std::string("."),
        std::string(".."), std::string("a\r\nb"), std::string("a\0b", 3), long_name}) {
    EXPECT_FALSE(codec::is_object_name(bad)) << bad;
  }
}

TEST(ApiStatusTest, StatusMessagesAreFound) {
  EXPECT_EQ(codec::status_message(R"({"kind":"Status","message":"no such pod"})"), "no such pod");
  EXPECT_EQ(codec::status_message(proto::envelope("Status", proto::bytes_field(3, "no\nrights"))),
            "no rights");
  EXPECT_EQ(codec::status_message("<html>\nbusy"), "<html> busy");
  EXPECT_EQ(codec::status_message(""), "no message");
}

}  // namespace
}  // namespace snug::api_status_test
