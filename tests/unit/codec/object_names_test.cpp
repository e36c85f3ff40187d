// The names of objects, and how an object that cannot be parsed is named.
#include "snug/codec/object_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/kube_proto.hpp"

namespace snug::object_names_test {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

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

TEST(KubeUnreadableTest, AFrameIsNamedByItsPod) {
  const nlohmann::json pod{{"metadata",
                            {{"name", "train-0"},
                             {"namespace", "ml"},
                             {"annotations", {{"x", std::string(5'000, 'x')}}}}}};
  const std::string bytes = proto::event("ADDED", pod);
  EXPECT_EQ(codec::name_unreadable(bytes, codec::WireFormat::kProtobuf), "ml/train-0");
  EXPECT_EQ(
      codec::name_unreadable(std::string_view(bytes).substr(0, 200), codec::WireFormat::kProtobuf),
      "ml/train-0");
  EXPECT_EQ(codec::name_unreadable(proto::event("ADDED", {{"metadata", {{"name", "p"}}}}),
                                   codec::WireFormat::kProtobuf),
            "p");
}

TEST(KubeUnreadableTest, BytesWithoutANameAreShownSafely) {
  EXPECT_EQ(codec::name_unreadable(std::string("k8s\0\n\xFF`\\", 8), codec::WireFormat::kProtobuf),
            R"(the object that begins `k8s\x00\x0a\xff`\`)");
  const nlohmann::json evil{{"metadata", {{"name", "x\nINFO y"}, {"namespace", "d"}}}};
  const std::string shown =
      codec::name_unreadable(proto::event("ADDED", evil), codec::WireFormat::kProtobuf);
  EXPECT_THAT(shown, StartsWith(R"(the object that begins `\x0a\x05ADDED)"));
  EXPECT_EQ(shown.find('\n'), std::string::npos);
  EXPECT_THAT(codec::name_unreadable(std::string(500, 'x'), codec::WireFormat::kProtobuf),
              EndsWith(std::string(128, 'x') + "`"));
}

}  // namespace
}  // namespace snug::object_names_test
