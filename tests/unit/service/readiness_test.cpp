#include "snug/service/readiness.hpp"

#include <gtest/gtest.h>

namespace snug::readiness_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ReadinessTest : ::testing::Test {
  Limits limits;
  ManualClock clock;
  Readiness readiness{clock, limits};

  void list(Resource resource) {
    readiness.list_begins(resource);
    readiness.listed(resource);
  }
  /// Both lists are in, and both watches established.
  void come_up() {
    for (const Resource resource : {Resource::kNodes, Resource::kPods}) {
      list(resource);
      readiness.alive(resource, "17");
    }
  }
};

TEST_F(ReadinessTest, BothListsMustBeIn) {
  EXPECT_FALSE(readiness.ready());
  list(Resource::kNodes);
  EXPECT_FALSE(readiness.ready());
  EXPECT_EQ(readiness.why_not(), "the first list of pods is not in yet");
  list(Resource::kPods);
  EXPECT_TRUE(readiness.ready());
  EXPECT_EQ(readiness.why_not(), "");
}

TEST_F(ReadinessTest, ANewLeaderIsNotReadyUntilListsThatBeganSinceThenAreIn) {
  readiness.stand_by("b_1", "");
  come_up();
  EXPECT_TRUE(readiness.warm());
  EXPECT_FALSE(readiness.ready());
  EXPECT_EQ(readiness.why_not(), "this Snug is a standby, and the leader is b_1");
  readiness.list_begins(Resource::kPods);  // before it leads
  readiness.lead();
  readiness.listed(Resource::kPods);
  list(Resource::kNodes);
  EXPECT_FALSE(readiness.ready());
  EXPECT_EQ(readiness.why_not(),
            "pods are being listed again, since this Snug has just become leader");
  list(Resource::kPods);
  EXPECT_TRUE(readiness.ready());
}

TEST_F(ReadinessTest, AWatchThatCannotBeEstablishedEndsItAfterWatchLostMs) {
  come_up();
  readiness.lost(Resource::kPods);
  clock.advance(milliseconds(limits.watch_lost_ms));
  EXPECT_TRUE(readiness.ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.ready());
  EXPECT_EQ(readiness.why_not(),
            "the watch of pods is not established, and has shown nothing for 15 s, so the view of "
            "this Snug may "
            "be out of date");
  readiness.alive(Resource::kPods, "");
  EXPECT_TRUE(readiness.ready());
}

TEST_F(ReadinessTest, AWatchThatWasQuietBeforeItWasLostHasTheSameTimeToComeBack) {
  come_up();
  clock.advance(seconds(25));
  readiness.lost(Resource::kPods);
  readiness.lost(Resource::kPods);  // a try that failed
  clock.advance(milliseconds(limits.watch_lost_ms));
  EXPECT_TRUE(readiness.ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.ready());
}

TEST_F(ReadinessTest, AWatchThatWasGivenUpForItsSilenceHasNone) {
  come_up();
  clock.advance(seconds(limits.watch_silence_s) + milliseconds(1));
  readiness.lost(Resource::kPods);
  EXPECT_FALSE(readiness.ready());
}

TEST_F(ReadinessTest, AnEstablishedWatchMayBeSilentAsLongAsBookmarksAllow) {
  come_up();
  clock.advance(seconds(limits.watch_silence_s));
  EXPECT_TRUE(readiness.ready());
  clock.advance(milliseconds(1));
  EXPECT_FALSE(readiness.ready());
  readiness.alive(Resource::kNodes, "");
  EXPECT_FALSE(readiness.ready());
  readiness.alive(Resource::kPods, "");
  EXPECT_TRUE(readiness.ready());
}

TEST_F(ReadinessTest, AStandbyWithAStaleViewIsNotWarm) {
  readiness.stand_by("b_1", "");
  come_up();
  clock.advance(seconds(limits.watch_silence_s) + milliseconds(1));
  EXPECT_FALSE(readiness.warm());
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
  EXPECT_FALSE(readiness.warm());
}

TEST_F(ReadinessTest, AgeAndVersionAreOfTheLastSignOfLife) {
  EXPECT_EQ(readiness.age(Resource::kNodes), std::nullopt);
  come_up();
  clock.advance(milliseconds(1234));
  readiness.alive(Resource::kPods, "");
  EXPECT_EQ(readiness.age(Resource::kNodes), milliseconds(1234));
  EXPECT_EQ(readiness.age(Resource::kPods), milliseconds(0));
  EXPECT_EQ(readiness.version(Resource::kPods), "17");
}

TEST_F(ReadinessTest, ASourceWithoutStreamsStaysAlive) {
  list(Resource::kNodes);
  list(Resource::kPods);
  clock.advance(seconds(3600));
  EXPECT_TRUE(readiness.ready());
}

TEST_F(ReadinessTest, AStreamThatWasNeverEstablishedIsAsOldAsItsFirstFailure) {
  readiness.lost(Resource::kPods);
  clock.advance(milliseconds(1'000));
  readiness.lost(Resource::kPods);
  EXPECT_EQ(readiness.age(Resource::kPods), milliseconds(1'000));
  EXPECT_EQ(readiness.age(Resource::kNodes), std::nullopt);
}

}  // namespace
}  // namespace snug::readiness_test
