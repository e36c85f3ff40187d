#include "snug/service/readiness.hpp"

#include <gtest/gtest.h>

namespace snug::readiness_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ReadinessTest : ::testing::Test {
  base::Limits limits;
  base::ManualClock clock;
  service::Readiness readiness{clock, limits};

  void list(service::Resource resource) {
    readiness.begin_list(resource);
    readiness.mark_listed(resource);
  }
  /// Both lists are in, and both watches established.
  void come_up() {
    for (const service::Resource resource : {service::Resource::kNodes, service::Resource::kPods}) {
      list(resource);
      readiness.mark_alive(resource, "17");
    }
  }
};

TEST_F(ReadinessTest, BothListsMustBeIn) {
  EXPECT_FALSE(readiness.is_ready());
  list(service::Resource::kNodes);
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(), "the first list of pods has not been received yet");
  list(service::Resource::kPods);
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(), "");
}

TEST_F(ReadinessTest, ANewLeaderIsNotReadyUntilListsThatBeganSinceThenAreIn) {
  readiness.stand_by("b_1", "");
  come_up();
  EXPECT_TRUE(readiness.is_warm_standby());
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(), "this Snug is a standby, and the leader is b_1");
  readiness.begin_list(service::Resource::kPods);  // before it leads
  readiness.start_leading();
  readiness.mark_listed(service::Resource::kPods);
  list(service::Resource::kNodes);
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(),
            "pods are being listed again, since this Snug has just become leader");
  list(service::Resource::kPods);
  EXPECT_TRUE(readiness.is_ready());
}

TEST_F(ReadinessTest, AWatchThatCannotBeEstablishedEndsItAfterWatchLostMs) {
  come_up();
  readiness.mark_lost(service::Resource::kPods);
  clock.advance(milliseconds(limits.watch_lost_ms));
  EXPECT_TRUE(readiness.is_ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(),
            "the watch of pods is not established, and has shown nothing for 15 s, so the view of "
            "this Snug may "
            "be out of date");
  readiness.mark_alive(service::Resource::kPods, "");
  EXPECT_TRUE(readiness.is_ready());
}

TEST_F(ReadinessTest, AWatchThatWasQuietBeforeItWasLostHasTheSameTimeToComeBack) {
  come_up();
  clock.advance(seconds(25));
  readiness.mark_lost(service::Resource::kPods);
  readiness.mark_lost(service::Resource::kPods);  // a try that failed
  clock.advance(milliseconds(limits.watch_lost_ms));
  EXPECT_TRUE(readiness.is_ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.is_ready());
}

TEST_F(ReadinessTest, AWatchThatWasGivenUpForItsSilenceHasNone) {
  come_up();
  clock.advance(seconds(limits.watch_silence_s) + milliseconds(1));
  readiness.mark_lost(service::Resource::kPods);
  EXPECT_FALSE(readiness.is_ready());
}

TEST_F(ReadinessTest, AnEstablishedWatchMayBeSilentAsLongAsBookmarksAllow) {
  come_up();
  clock.advance(seconds(limits.watch_silence_s));
  EXPECT_TRUE(readiness.is_ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.is_ready());
  readiness.mark_alive(service::Resource::kNodes, "");
  EXPECT_FALSE(readiness.is_ready());
  readiness.mark_alive(service::Resource::kPods, "");
  EXPECT_TRUE(readiness.is_ready());
}

TEST_F(ReadinessTest, AStandbyWithAStaleViewIsNotWarm) {
  readiness.stand_by("b_1", "");
  come_up();
  clock.advance(seconds(limits.watch_silence_s) + milliseconds(1));
  EXPECT_FALSE(readiness.is_warm_standby());
  EXPECT_EQ(readiness.why_not(),
            "this Snug is a standby, and the leader is b_1; the watch of nodes has shown nothing "
            "for 45 s, so the view of this Snug may be out of date; the watch of pods has shown "
            "nothing for "
            "45 s, so the view of this Snug may be out of date");
}

TEST_F(ReadinessTest, AStandbyInConflictIsNotWarm) {
  readiness.stand_by("other_1", "");
  come_up();
  readiness.set_conflict(true);
  EXPECT_FALSE(readiness.is_warm_standby());
}

TEST_F(ReadinessTest, AgeAndVersionAreOfTheLastSignOfLife) {
  EXPECT_EQ(readiness.age(service::Resource::kNodes), std::nullopt);
  come_up();
  clock.advance(milliseconds(1234));
  readiness.mark_alive(service::Resource::kPods, "");
  EXPECT_EQ(readiness.age(service::Resource::kNodes), milliseconds(1234));
  EXPECT_EQ(readiness.age(service::Resource::kPods), milliseconds(0));
  EXPECT_EQ(readiness.version(service::Resource::kPods), "17");
}

TEST_F(ReadinessTest, ASourceWithoutStreamsStaysAlive) {
  list(service::Resource::kNodes);
  list(service::Resource::kPods);
  clock.advance(seconds(3600));
  EXPECT_TRUE(readiness.is_ready());
}

TEST_F(ReadinessTest, AStreamThatWasNeverEstablishedIsAsOldAsItsFirstFailure) {
  readiness.mark_lost(service::Resource::kPods);
  clock.advance(milliseconds(1'000));
  readiness.mark_lost(service::Resource::kPods);
  EXPECT_EQ(readiness.age(service::Resource::kPods), milliseconds(1'000));
  EXPECT_EQ(readiness.age(service::Resource::kNodes), std::nullopt);
}

}  // namespace
}  // namespace snug::readiness_test
