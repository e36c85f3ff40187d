#include "adapters/http/body_buffers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace snug::body_buffers_test {
namespace {

constexpr std::size_t kLarge = 600'000;

Limits limits_with(std::int64_t at_once, std::int64_t wait_ms) {
  Limits limits;
  limits.max_body_bytes_at_once = at_once;
  limits.body_wait_ms = wait_ms;
  return limits;
}

using Lending = std::future<std::shared_ptr<BodyBuffers::Lent>>;

/// Returns when the other thread waits for room; or is done, which is for the test to notice.
void wait_for_waiting(const BodyBuffers& buffers, const Lending& other) {
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
    BodyBuffers buffers(limits_with(1'000'000, 0));
    const auto held = row.held > 0 ? buffers.lend(row.held) : nullptr;
    EXPECT_EQ(buffers.lend(row.wanted) != nullptr, row.lent) << row.held << ' ' << row.wanted;
  }
}

TEST(BodyBuffersTest, ABufferIsEmptyAndHasRoomForTheParser) {
  BodyBuffers buffers{Limits{}};
  for (int i = 0; i < 3; ++i) {
    const auto lent = buffers.lend(100'000);
    EXPECT_TRUE(lent->text().empty());
    EXPECT_GE(lent->text().capacity(), 100'064U);
    lent->text() = "rest";
  }
}

TEST(BodyBuffersTest, WhoWaitsGetsTheRoomThatIsGivenBack) {
  BodyBuffers buffers(limits_with(1'000'000, 60'000));
  auto first = buffers.lend(kLarge);
  Lending second = std::async(std::launch::async, [&] { return buffers.lend(kLarge); });
  wait_for_waiting(buffers, second);
  first.reset();
  EXPECT_NE(second.get(), nullptr);
  EXPECT_EQ(buffers.waiting(), 0U);
}

TEST(BodyBuffersTest, ClosingRefusesWhoWaits) {
  BodyBuffers buffers(limits_with(1'000'000, 60'000));
  const auto first = buffers.lend(kLarge);
  Lending second = std::async(std::launch::async, [&] { return buffers.lend(kLarge); });
  wait_for_waiting(buffers, second);
  buffers.close();
  EXPECT_EQ(second.get(), nullptr);
  EXPECT_EQ(buffers.lend(kLarge), nullptr);
}

}  // namespace
}  // namespace snug::body_buffers_test
