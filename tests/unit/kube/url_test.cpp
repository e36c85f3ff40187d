// The encoding of query values.
#include "adapters/kube/url.hpp"

#include <gtest/gtest.h>

namespace snug::url_test {
namespace {

TEST(KubeUrlTest, QueryValuesArePercentEncoded) {
  EXPECT_EQ(kube::encode_query("status.phase!=Failed,a&b=c d\n\xC3\xA4"),
            "status.phase%21%3DFailed%2Ca%26b%3Dc%20d%0A%C3%A4");
}

}  // namespace
}  // namespace snug::url_test
