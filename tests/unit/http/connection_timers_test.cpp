// How long a connection may wait without a thread, and which one goes first.
#include "adapters/http/connection_timers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace snug::connection_timers_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConnectionTimersTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<int> late() const { return timers_.expired(clock_.now()); }

  base::ManualClock clock_;
  http::ConnectionTimers timers_{{.head = seconds{2}, .idle = seconds{90}, .refused = seconds{1}}};
};

TEST_F(ConnectionTimersTest, AHeadHasTwoSecondsInAllFromTheAcceptHoweverItDrips) {
  timers_.accepted(7, clock_.now());
  for (int i = 0; i < 20; ++i) {
    timers_.head_started(7, clock_.now());
    EXPECT_THAT(late(), IsEmpty()) << i;
    clock_.advance(milliseconds{100});
  }
  EXPECT_THAT(late(), ElementsAre(7));
}

TEST_F(ConnectionTimersTest, OnAnIdleConnectionTheyBeginWithTheFirstByte) {
  timers_.idle(7, clock_.now());
  clock_.advance(seconds{89});
  EXPECT_THAT(late(), IsEmpty());
  timers_.head_started(7, clock_.now());
  clock_.advance(milliseconds{1'999});
  timers_.head_started(7, clock_.now());
  EXPECT_THAT(late(), IsEmpty());
  clock_.advance(milliseconds{1});
  EXPECT_THAT(late(), ElementsAre(7));
}

TEST_F(ConnectionTimersTest, TheNextDeadlineIsTheEarliestOfAll) {
  EXPECT_EQ(timers_.next_deadline(), std::nullopt);
  timers_.idle(1, clock_.now());
  EXPECT_EQ(timers_.next_deadline(), clock_.now() + seconds{90});
  timers_.accepted(2, clock_.now());
  EXPECT_EQ(timers_.next_deadline(), clock_.now() + seconds{2});
  timers_.refused(3, clock_.now());
  EXPECT_EQ(timers_.next_deadline(), clock_.now() + seconds{1});
  EXPECT_TRUE(timers_.is_refused(3));
  timers_.remove(3);
  EXPECT_FALSE(timers_.is_refused(3));
  EXPECT_EQ(timers_.next_deadline(), clock_.now() + seconds{2});
}

TEST_F(ConnectionTimersTest, RefusedOnesGoFirstThenHeadsThenIdleOnesTheOldestOfEach) {
  for (const int id : {11, 10}) {
    timers_.idle(id, clock_.now());
    clock_.advance(milliseconds{1});
  }
  for (const int id : {21, 20}) {
    timers_.accepted(id, clock_.now());
    clock_.advance(milliseconds{1});
  }
  for (const int id : {31, 30}) {
    timers_.refused(id, clock_.now());
    clock_.advance(milliseconds{1});
  }
  // Its next head has begun: it is the youngest of those.
  timers_.idle(9, clock_.now());
  timers_.head_started(9, clock_.now());
  std::vector<int> order;
  while (const auto first = timers_.first_to_close()) {
    order.push_back(*first);
    timers_.remove(*first);
  }
  EXPECT_THAT(order, ElementsAre(31, 30, 21, 20, 9, 11, 10));
}

}  // namespace
}  // namespace snug::connection_timers_test
