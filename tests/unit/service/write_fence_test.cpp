#include "snug/service/write_fence.hpp"

#include <gtest/gtest.h>

namespace snug::write_fence_test {
namespace {

using std::chrono::milliseconds;

struct FenceTest : ::testing::Test {
  ManualClock clock;
  WriteFence fence{clock, milliseconds(2500)};
};

TEST_F(FenceTest, WithoutAnElectionItIsOpenForEver) {
  const auto pass = fence.let_out(fence.term());
  ASSERT_TRUE(pass);
  EXPECT_EQ(pass->not_after(), TimePoint::max());
}

TEST_F(FenceTest, NothingLeavesAfterItsTimeOrWhileItIsClosed) {
  fence.close();
  EXPECT_FALSE(fence.let_out(fence.term()));
  fence.open_until(clock.now() + milliseconds(10));
  EXPECT_TRUE(fence.let_out(fence.term()));
  clock.advance(milliseconds(10));
  EXPECT_FALSE(fence.let_out(fence.term()));
  fence.open_until(clock.now() + milliseconds(10));  // a renewal
  EXPECT_TRUE(fence.let_out(fence.term()));
}

TEST_F(FenceTest, WhatWasDecidedInAnEarlierTermDoesNotLeave) {
  fence.close();
  fence.open_until(clock.now() + milliseconds(10));
  const WriteFence::Term decided = fence.term();
  fence.open_until(clock.now() + milliseconds(20));  // a renewal: the same term
  EXPECT_TRUE(fence.let_out(decided));
  fence.close();
  fence.open_until(clock.now() + milliseconds(20));
  EXPECT_FALSE(fence.let_out(decided));
  EXPECT_TRUE(fence.let_out(fence.term()));
}

TEST_F(FenceTest, ItIsQuietOnceEveryBindingIsAnswered) {
  auto first = fence.let_out(fence.term());
  auto second = fence.let_out(fence.term());
  EXPECT_FALSE(fence.is_quiet());
  first->answered();
  first.reset();
  EXPECT_FALSE(fence.is_quiet());
  second->answered();
  second.reset();
  EXPECT_TRUE(fence.is_quiet());
}

TEST_F(FenceTest, ItIsQuietOnlyAfterAnUnansweredBindingCanNoLongerBeCarriedOut) {
  fence.let_out(fence.term()).reset();
  EXPECT_FALSE(fence.is_quiet());
  clock.advance(milliseconds(2499));
  EXPECT_FALSE(fence.is_quiet());
  clock.advance(milliseconds(1));
  EXPECT_TRUE(fence.is_quiet());
}

}  // namespace
}  // namespace snug::write_fence_test
