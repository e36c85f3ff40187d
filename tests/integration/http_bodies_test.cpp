// Large bodies: how many at once, and what is left of them in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <latch>
#include <string>

#include "integration/http_client.hpp"
#include "integration/http_fixture.hpp"

namespace snug::testing::http_bodies_test {
namespace {

/// Bytes that are allocated and not freed; sanitizers say 0.
std::size_t bytes_in_use() {
  const auto all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

TEST(HttpBodiesTest, BodiesBeyondWhatIsAllowedAtOnceAreRefusedAndBindsPass) {
  base::Limits limits;
  limits.max_body_bytes_at_once = 1'000'000;
  limits.body_wait_ms = 0;
  ServedSnug served{limits};
  std::latch inside{1};
  std::latch release{1};
  std::atomic<int> calls{0};
  served.meanwhile = [&] {
    if (calls++ > 0) return;
    inside.count_down();
    release.wait();
  };
  std::string large{kGoodFilter};
  large.append(600'000, ' ');
  HttpClient first{served.port()};
  first.post("/filter", large);
  inside.wait();
  HttpClient second{served.port()};
  second.post("/filter", large);
  const auto refused = second.receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, ::testing::HasSubstr(
                                 "other request bodies take up the 1000000 bytes that are allowed "
                                 "at once (limit maxBodyBytesAtOnce); try again"));
  EXPECT_TRUE(second.wait_closed());
  const auto bound = ServedSnug::ask(served.port(), post_text("/bind", kGoodBind));
  EXPECT_EQ(bound.body, R"({"Error":""})");
  release.count_down();
  EXPECT_EQ(first.receive().value_or(HttpAnswer{}).body, kAllNodes);
  // What the first took is free again by the time that its connection can carry another.
  first.post("/filter", large);
  EXPECT_EQ(first.receive().value_or(HttpAnswer{}).body, kAllNodes);
}

TEST(HttpBodiesTest, ALargeBodyLeavesNothingBehind) {
  constexpr std::size_t kLittle = 4'194'304;
  std::string numbers{kGoodFilter};
  numbers.pop_back();
  numbers += ",\"x\":[1";
  while (numbers.size() < 16'777'216) numbers += ",1";
  numbers += "]}";
  ServedSnug served;
  HttpClient client{served.port()};
  const auto get = [&](const std::string& body) {
    client.post("/filter", body);
    EXPECT_EQ(client.receive().value_or(HttpAnswer{}).body, kAllNodes);
  };
  get(kGoodFilter);
  const std::size_t before = bytes_in_use();
  get(numbers);
  // By its reply the one before it has been given back.
  get(kGoodFilter);
  EXPECT_LT(bytes_in_use(), before + kLittle);
}

}  // namespace
}  // namespace snug::testing::http_bodies_test
