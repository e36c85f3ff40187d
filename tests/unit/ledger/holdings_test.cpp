#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ledger_fixture.hpp"

namespace snug::holdings_test {
namespace {

model::HoldingPtr share_of(std::string_view uid, std::string_view node, std::int64_t milli = 250) {
  return make_holding(uid, node, {make_share(0, milli * 40960 / 1000, milli)});
}

TEST(LedgerHoldTest, AHoldingSeenTwiceCountsOnce) {
  LedgerFixture world;
  EXPECT_TRUE(world.ledger.hold(share_of("p", "n1")));
  const std::string once = world.visible();
  EXPECT_TRUE(world.ledger.hold(share_of("p", "n1")));
  EXPECT_EQ(world.visible(), once);
  EXPECT_EQ(world.ledger.gpu_entries().size(), 1U);
}

TEST(LedgerHoldTest, ALaterEditChangesNothingAndIsTold) {
  LedgerFixture world;
  ASSERT_TRUE(world.ledger.hold(share_of("p", "n1", 250)));
  const std::string before = world.visible();
  EXPECT_FALSE(world.ledger.hold(share_of("p", "n1", 100)));
  EXPECT_FALSE(world.ledger.hold(make_unplaced("p", "n1")));
  EXPECT_EQ(world.visible(), before);
  EXPECT_TRUE(world.ledger.hold(share_of("p", "n1", 250))) << "what it was is no edit";
}

TEST(LedgerHoldTest, APodWithoutDeviceClosesItsNodeOnlyWhileItAsksForOne) {
  LedgerFixture world;
  const auto plain_pod = [] {
    auto holding = make_holding("p", "n1", {});
    holding->reservation.containers.clear();
    return holding;
  };
  LedgerFixture other;
  ASSERT_TRUE(other.ledger.hold(plain_pod()));
  const std::string with_pod = other.visible();
  ASSERT_TRUE(world.ledger.hold(make_unplaced("p", "n1")));
  ASSERT_TRUE(world.ledger.hold(make_unplaced("p", "n1")));
  EXPECT_EQ(world.node("n1")->unplaced_pods, 1);
  ASSERT_TRUE(world.ledger.hold(plain_pod()));
  EXPECT_EQ(world.visible(), with_pod) << "it holds cpu and memory of its node, and no GPU";
  EXPECT_TRUE(world.ledger.gpu_entries().empty());
  ASSERT_TRUE(world.ledger.hold(make_unplaced("p", "n1"))) << "and again when it asks again";
  EXPECT_EQ(world.node("n1")->unplaced_pods, 1);
  world.expect_sums();
}

TEST(LedgerHoldTest, AReservationAddedToAPodOfTheHostAloneIsCountedAndTold) {
  auto plain_pod = make_holding("p", "n1", {});
  plain_pod->reservation.containers.clear();
  const auto reservation = [](std::int64_t milli) {
    auto holding = std::make_shared<model::Holding>(*share_of("p", "n1", milli));
    holding->reservation_written = true;
    return holding;
  };
  LedgerFixture restarted;
  ASSERT_TRUE(restarted.ledger.hold(reservation(250)));
  const std::string by_a_restart = restarted.visible();

  LedgerFixture watched;
  ASSERT_TRUE(watched.ledger.hold(plain_pod));
  EXPECT_FALSE(watched.ledger.hold(reservation(250)));
  EXPECT_EQ(watched.visible(), by_a_restart);
  EXPECT_TRUE(watched.ledger.hold(reservation(250))) << "it is told once";
  EXPECT_FALSE(watched.ledger.hold(reservation(100))) << "from then on it is kept as any other";
  EXPECT_FALSE(watched.ledger.hold(plain_pod));
  EXPECT_EQ(watched.visible(), by_a_restart);
  watched.expect_sums();

  LedgerFixture relisted;
  ASSERT_TRUE(relisted.ledger.hold(plain_pod));
  const ledger::ListMark mark = relisted.ledger.begin_list();
  const ledger::ListResult result = relisted.ledger.replace_holdings(
      mark, {.bound = {reservation(250)}, .living = {"p"}, .nominated = {}});
  EXPECT_EQ(result.edited_uids, std::vector<std::string>{"p"});
  EXPECT_EQ(relisted.visible(), by_a_restart);
}

TEST(LedgerHoldTest, AReservationAddedToAPodWithoutDeviceChangesNothingAndIsTold) {
  LedgerFixture world;
  ASSERT_TRUE(world.ledger.hold(make_unplaced("p", "n1")));
  const std::string before = world.visible();
  auto added = std::make_shared<model::Holding>(*share_of("p", "n1"));
  added->reservation_written = true;
  EXPECT_FALSE(world.ledger.hold(added));
  EXPECT_EQ(world.visible(), before) << "the node stays closed to annotated pods";
}

TEST(LedgerHoldTest, AnEditAfterOurOwnBindChangesNothingEither) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  world.ledger.mark_bound("p");
  const std::string before = world.visible();
  EXPECT_FALSE(world.ledger.hold(share_of("p", "n1", 100)));
  EXPECT_EQ(world.visible(), before);
  EXPECT_TRUE(world.ledger.find("p")->confirmed);
}

TEST(LedgerHoldTest, ABindingThatIsNotTheOneWeTriedReplacesIt) {
  for (const bool unsettled : {false, true}) {
    LedgerFixture world;
    ASSERT_TRUE(world.reserve("p", "n1", make_fraction(800)).has_value());
    if (unsettled) world.ledger.mark_unsettled("p");
    const std::uint64_t room = world.room();
    EXPECT_TRUE(world.ledger.hold(share_of("p", "n1", 100)));
    EXPECT_EQ(world.where("p"), "Bound@n1");
    EXPECT_EQ(world.node("n1")->gpus[0].used_compute, base::MilliGpu{100});
    EXPECT_GT(world.room(), room) << "less is held than before";
    world.ledger.release("p");
    EXPECT_EQ(world.where("p"), "Bound@n1") << "our late failure takes nothing away";
  }
}

TEST(LedgerHoldTest, BoundElsewhereMovesThePod) {
  LedgerFixture world;
  ASSERT_TRUE(world.ledger.hold(share_of("p", "n1")));
  EXPECT_TRUE(world.ledger.hold(make_terminating(share_of("p", "n2"))));
  EXPECT_TRUE(world.node("n1")->gpus[0].empty());
  EXPECT_EQ(world.node("n2")->gpus[0].used_compute, base::MilliGpu{250});
  EXPECT_TRUE(world.ledger.find("p")->holding->terminating);
}

TEST(LedgerHoldTest, ATerminatingPodKeepsItsGpusUntilItIsGone) {
  LedgerFixture world;
  ASSERT_TRUE(world.ledger.hold(share_of("p", "n1")));
  ASSERT_TRUE(world.ledger.hold(make_terminating(share_of("p", "n1"))));
  EXPECT_TRUE(world.ledger.find("p")->holding->terminating);
  EXPECT_EQ(world.node("n1")->gpus[0].used_compute, base::MilliGpu{250});
  world.ledger.end_pod("p");
  EXPECT_TRUE(world.node("n1")->gpus[0].empty());
}

TEST(LedgerHoldTest, OverCommitmentThatEventsRevealIsCountedAndCloses) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("a", "n1", make_fraction(800)).has_value());
  EXPECT_TRUE(world.ledger.hold(share_of("b", "n1", 500)));
  EXPECT_EQ(world.node("n1")->gpus[0].used_compute, base::MilliGpu{1300});
  EXPECT_EQ(world.node("n1")->gpus[0].closure, model::GpuClosure::kOverCommitted);
  EXPECT_EQ(world.reserve("c", "n1", make_fraction(1)).error().reason,
            model::ReasonCode::kUnhealthy);
  world.ledger.end_pod("b");
  EXPECT_EQ(world.node("n1")->gpus[0].closure, model::GpuClosure::kOpen);
  EXPECT_TRUE(world.reserve("c", "n1", make_fraction(200)).has_value());
}

TEST(LedgerHoldTest, SeenIsWhatTheApiServerHasShown) {
  LedgerFixture world;
  const model::HoldingPtr own = world.reserve("p", "n1").value();
  EXPECT_FALSE(world.ledger.find("p")->confirmed);
  world.ledger.mark_bound("p");
  EXPECT_FALSE(world.ledger.find("p")->confirmed);
  world.ledger.hold(own);
  EXPECT_TRUE(world.ledger.find("p")->confirmed);
}

TEST(LedgerHoldTest, WhatOnlyAGetShowedStaysUnseenUntilTheWatchShowsIt) {
  LedgerFixture world;
  ASSERT_TRUE(world.ledger.hold_from_get(make_terminating(share_of("p", "n1"))));
  EXPECT_FALSE(world.ledger.find("p")->confirmed);
  EXPECT_TRUE(world.ledger.find("p")->holding->terminating);
  EXPECT_EQ(world.where("p"), "Bound@n1");
  world.clock.advance(std::chrono::seconds(3));
  world.ledger.hold_from_get(make_terminating(share_of("p", "n1")));
  EXPECT_EQ(world.ledger.find("p")->since - base::TimePoint{}, std::chrono::seconds(3));
  world.ledger.hold(share_of("p", "n1"));
  EXPECT_TRUE(world.ledger.find("p")->confirmed);
  world.ledger.hold_from_get(share_of("p", "n1"));
  EXPECT_TRUE(world.ledger.find("p")->confirmed) << "what was seen stays seen";
}

TEST(LedgerListTest, AListThatBeganBeforeABindDoesNotUndoIt) {
  LedgerFixture world;
  const ledger::ListMark mark = world.ledger.begin_list();
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  world.ledger.mark_bound("p");
  world.list(mark, {}, {"p"});
  EXPECT_EQ(world.where("p"), "Bound@n1");
  world.list(mark, {});
  EXPECT_EQ(world.where("p"), "Bound@n1");
  world.list(world.ledger.begin_list(), {});
  EXPECT_EQ(world.where("p"), "ended");
}

TEST(LedgerListTest, AListThatBeganBeforeTheBindWasConfirmedDoesNotUndoIt) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  const ledger::ListMark mark = world.ledger.begin_list();
  world.ledger.mark_bound("p");
  world.list(mark, {}, {"p"});
  EXPECT_EQ(world.where("p"), "Bound@n1");
}

TEST(LedgerListTest, AListThatBeganBeforeADeletionDoesNotBringThePodBack) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n1"));
  const ledger::ListMark mark = world.ledger.begin_list();
  world.ledger.end_pod("p");
  world.list(mark, {share_of("p", "n1")});
  EXPECT_EQ(world.where("p"), "ended");
  EXPECT_TRUE(world.node("n1")->gpus[0].empty());
}

TEST(LedgerListTest, OnlyWhatTheListLacksEnds) {
  LedgerFixture world({}, {"n1: A 40960 x8"});
  const model::HoldingPtr kept = share_of("kept", "n1");
  world.ledger.hold(kept);
  world.ledger.hold(share_of("deleted", "n1"));
  world.ledger.hold(share_of("unbound", "n1"));
  ASSERT_TRUE(world.reserve("flying", "n1").has_value());
  ASSERT_TRUE(world.reserve("lost", "n1").has_value());
  world.ledger.mark_unsettled("lost");
  ASSERT_TRUE(world.reserve("lost and deleted", "n1").has_value());
  world.ledger.mark_unsettled("lost and deleted");
  const std::uint64_t room = world.room();
  world.list(world.ledger.begin_list(), {kept, share_of("new", "n1")},
             {"unbound", "flying", "lost"});
  EXPECT_EQ(world.where("kept"), "Bound@n1");
  EXPECT_EQ(world.where("new"), "Bound@n1");
  EXPECT_EQ(world.where("deleted"), "ended");
  EXPECT_EQ(world.where("unbound"), "-") << "a pod that lives may be bound again";
  EXPECT_EQ(world.where("flying"), "Reserved@n1");
  EXPECT_EQ(world.where("lost"), "Unsettled@n1");
  EXPECT_EQ(world.where("lost and deleted"), "ended");
  EXPECT_GT(world.room(), room);
  world.expect_sums();
}

TEST(LedgerListTest, AListThatShowsWhatIsKnownChangesNothing) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n1"));
  const std::uint64_t generation = world.generation();
  world.list(world.ledger.begin_list(), {share_of("p", "n1")});
  EXPECT_EQ(world.generation(), generation);
}

}  // namespace
}  // namespace snug::holdings_test
