#include "snug/service/write_fence.hpp"

#include <gtest/gtest.h>

namespace snug::write_fence_test {
namespace {

using std::chrono::milliseconds;

struct FenceTest : ::testing::Test {
  base::ManualClock clock;
  service::WriteFence fence{clock, milliseconds(2500)};
};

TEST_F(FenceTest, WithoutAnElectionItIsOpenForEver) {
  const auto pass = fence.acquire(fence.term());
  ASSERT_TRUE(pass);
  EXPECT_EQ(pass->not_after(), base::TimePoint::max());
}

TEST_F(FenceTest, NothingLeavesAfterItsTimeOrWhileItIsClosed) {
  fence.close();
  EXPECT_FALSE(fence.acquire(fence.term()));
  fence.open_until(clock.now() + milliseconds(10));
  EXPECT_TRUE(fence.acquire(fence.term()));
  clock.advance(milliseconds(10));
  EXPECT_FALSE(fence.acquire(fence.term()));
  fence.open_until(clock.now() + milliseconds(10));  // a renewal
  EXPECT_TRUE(fence.acquire(fence.term()));
}

TEST_F(FenceTest, WhatWasDecidedInAnEarlierTermDoesNotLeave) {
  fence.close();
  fence.open_until(clock.now() + milliseconds(10));
  const service::WriteFence::Term decided = fence.term();
  fence.open_until(clock.now() + milliseconds(20));  // a renewal: the same term
  EXPECT_TRUE(fence.acquire(decided));
  fence.close();
  fence.open_until(clock.now() + milliseconds(20));
  EXPECT_FALSE(fence.acquire(decided));
  EXPECT_TRUE(fence.acquire(fence.term()));
}

TEST_F(FenceTest, ItIsQuietOnceEveryBindingIsAnswered) {
  auto first = fence.acquire(fence.term());
  auto second = fence.acquire(fence.term());
  EXPECT_FALSE(fence.has_nothing_in_flight());
  first->answered();
  first.reset();
  EXPECT_FALSE(fence.has_nothing_in_flight());
  second->answered();
  second.reset();
  EXPECT_TRUE(fence.has_nothing_in_flight());
}

TEST_F(FenceTest, ItIsQuietOnlyAfterAnUnansweredBindingCanNoLongerBeCarriedOut) {
  fence.acquire(fence.term()).reset();
  EXPECT_FALSE(fence.has_nothing_in_flight());
  clock.advance(milliseconds(2499));
  EXPECT_FALSE(fence.has_nothing_in_flight());
  clock.advance(milliseconds(1));
  EXPECT_TRUE(fence.has_nothing_in_flight());
}

}  // namespace
}  // namespace snug::write_fence_test
