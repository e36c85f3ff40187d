#include <gtest/gtest.h>

#include "snug/adapters/http/http_options.hpp"

namespace snug::address_text_test {
namespace {

TEST(AddressTextTest, AnIpv6HostStandsInBrackets) {
  EXPECT_EQ(http::address_text("127.0.0.1", 8888), "127.0.0.1:8888");
  EXPECT_EQ(http::address_text("localhost", 0), "localhost:0");
  EXPECT_EQ(http::address_text("::1", 8888), "[::1]:8888");
  EXPECT_EQ(http::address_text("fe80::1%eth0", 1), "[fe80::1%eth0]:1");
}

}  // namespace
}  // namespace snug::address_text_test
