// The encoding of query values.
#include "adapters/kube/url.hpp"

#include <gtest/gtest.h>

namespace snug::url_test {
namespace {

TEST(KubeUrlTest, QueryValuesArePercentEncoded) {
  EXPECT_EQ(kube::encode_query("status.phase!=Failed,a&b=c d\n\xC3\xA4"),
            "status.phase%21%3DFailed%2Ca%26b%3Dc%20d%0A%C3%A4");
}

TEST(KubeUrlTest, AUrlHasNoControlCharacters) {
  EXPECT_TRUE(kube::parse_http_url("https://api:6443/prefix"));
  for (const char c : {'\0', '\t', '\x01', '\x0b', '\x1f', '\x7f', ' ', '\n'}) {
    EXPECT_FALSE(kube::parse_http_url(std::string("https://a") + c + "pi:6443")) << int{c};
    EXPECT_FALSE(kube::parse_http_url(std::string("https://api:6443/a") + c + "b")) << int{c};
  }
}

}  // namespace
}  // namespace snug::url_test
