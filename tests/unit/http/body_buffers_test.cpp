#include "adapters/http/body_buffers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace snug::body_buffers_test {
namespace {

constexpr std::size_t kLarge = 600'000;

base::Limits limits_with(std::int64_t at_once, std::int64_t wait_ms) {
  base::Limits limits;
  limits.max_body_bytes_at_once = at_once;
  limits.body_wait_ms = wait_ms;
  return limits;
}

using Lending = std::future<std::shared_ptr<http::BodyBuffers::Buffer>>;

/// Returns when the other thread waits for room; or is done, which is for the test to notice.
void wait_for_waiting(const http::BodyBuffers& buffers, const Lending& other) {
  while (buffers.waiting() == 0 &&
         other.wait_for(std::chrono::seconds{0}) != std::future_status::ready) {
    std::this_thread::yield();
  }
}

TEST(BodyBuffersTest, WhatIsLentAtOnceIsBounded) {
  struct Row {
    std::size_t held;
    std::size_t wanted;
    bool lent;
  };
  for (const Row& row : {Row{400'000, 600'000, true}, Row{400'001, 600'000, false},
                         Row{0, 5'000'000, true},  // a lone body always has room
                         Row{5'000'000, 20'000, false}, Row{5'000'000, 16'384, true},
                         Row{16'384, 1'000'000, true}}) {
    http::BodyBuffers buffers(limits_with(1'000'000, 0));
    const auto held = row.held > 0 ? buffers.acquire(row.held) : nullptr;
    EXPECT_EQ(buffers.acquire(row.wanted) != nullptr, row.lent) << row.held << ' ' << row.wanted;
  }
}

TEST(BodyBuffersTest, ABufferIsEmptyAndHasRoomForTheParser) {
  http::BodyBuffers buffers{base::Limits{}};
  for (int i = 0; i < 3; ++i) {
    const auto lent = buffers.acquire(100'000);
    EXPECT_TRUE(lent->text().empty());
    EXPECT_GE(lent->text().capacity(), 100'064U);
    lent->text() = "rest";
  }
}

TEST(BodyBuffersTest, WhoWaitsGetsTheRoomThatIsGivenBack) {
  http::BodyBuffers buffers(limits_with(1'000'000, 60'000));
  auto first = buffers.acquire(kLarge);
  Lending second = std::async(std::launch::async, [&] { return buffers.acquire(kLarge); });
  wait_for_waiting(buffers, second);
  first.reset();
  EXPECT_NE(second.get(), nullptr);
  EXPECT_EQ(buffers.waiting(), 0U);
}

TEST(BodyBuffersTest, ClosingRefusesWhoWaits) {
  http::BodyBuffers buffers(limits_with(1'000'000, 60'000));
  const auto first = buffers.acquire(kLarge);
  Lending second = std::async(std::launch::async, [&] { return buffers.acquire(kLarge); });
  wait_for_waiting(buffers, second);
  buffers.close();
  EXPECT_EQ(second.get(), nullptr);
  EXPECT_EQ(buffers.acquire(kLarge), nullptr);
}

}  // namespace
}  // namespace snug::body_buffers_test
