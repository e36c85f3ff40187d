// What brings a pod back that has ended, and what does not.
#include <gtest/gtest.h>

#include <string>

#include "ledger_fixture.hpp"

namespace snug::tombstones_test {
namespace {

model::HoldingPtr share_of(std::string_view uid, std::string_view node, std::int64_t milli = 250) {
  return make_holding(uid, node, {make_share(0, milli * 40960 / 1000, milli)});
}

bool read_as_gone(LedgerFixture& world, std::string_view uid) {
  return world.ledger.end_pod_from_get(uid, world.ledger.find(uid)->sequence);
}

TEST(LedgerTombstoneTest, OnlyTheLastEndedPodsAreRemembered) {
  base::Limits limits;
  limits.max_tombstones = 16;
  LedgerFixture world(limits);
  for (int i = 0; i < 17; ++i) world.ledger.end_pod("p" + std::to_string(i));
  EXPECT_FALSE(world.ledger.has_ended("p0"));
  for (int i = 1; i < 17; ++i) EXPECT_TRUE(world.ledger.has_ended("p" + std::to_string(i)));
}

TEST(LedgerTombstoneTest, APodThatEndsAgainTakesNoOthersPlace) {
  base::Limits limits;
  limits.max_tombstones = 16;
  LedgerFixture world(limits);
  for (int i = 0; i < 16; ++i) world.ledger.end_pod("p" + std::to_string(i));
  for (int i = 0; i < 100; ++i) world.ledger.end_pod("p15");
  EXPECT_TRUE(world.ledger.has_ended("p0"));
}

TEST(LedgerTombstoneTest, AnUnknownPodThatIsGoneMakesNoRoom) {
  LedgerFixture world;
  const std::uint64_t room = world.room();
  world.ledger.end_pod("never seen");
  EXPECT_EQ(world.room(), room);
  EXPECT_TRUE(world.ledger.has_ended("never seen"));
}

TEST(LedgerTombstoneTest, APodThatTheWatchShowsRunningAfterItsEndHoldsAgain) {
  LedgerFixture world;
  const model::HoldingPtr held = share_of("p", "n1", 600);
  ASSERT_TRUE(world.ledger.hold(held));
  world.ledger.end_pod("p");
  ASSERT_TRUE(world.ledger.hold(share_of("q", "n1", 600)));
  ASSERT_TRUE(world.ledger.hold(held));
  EXPECT_EQ(world.where("p"), "Bound@n1");
  EXPECT_EQ(world.node("n1")->gpus[0].used_compute, base::MilliGpu{1200});
  EXPECT_EQ(world.node("n1")->gpus[0].closure, model::GpuClosure::kOverCommitted);
  world.expect_sums();
  world.ledger.end_pod("p");
  EXPECT_EQ(world.where("p"), "ended");
  EXPECT_EQ(world.node("n1")->gpus[0].closure, model::GpuClosure::kOpen);
}

TEST(LedgerTombstoneTest, ARevivedPodIsToBeConfirmedByAReadOrAList) {
  for (const bool by_list : {false, true}) {
    LedgerFixture world;
    const model::HoldingPtr held = share_of("p", "n1");
    ASSERT_TRUE(world.ledger.hold(held));
    world.ledger.end_pod("p");
    ASSERT_TRUE(world.ledger.hold(held));
    ASSERT_TRUE(world.ledger.hold(make_terminating(held))) << "more late events prove no more";
    ASSERT_EQ(world.ledger.unconfirmed().size(), 1U);
    if (by_list) {
      world.list(world.ledger.begin_list(), {held});
    } else {
      ASSERT_TRUE(world.ledger.hold_from_get(held));
    }
    EXPECT_TRUE(world.ledger.unconfirmed().empty());
    EXPECT_EQ(world.where("p"), "Bound@n1");
    world.expect_sums();
  }
}

TEST(LedgerTombstoneTest, WhatAReadEndedNoWatchEventBringsBackUntilTheWatchHasEndedItToo) {
  enum class Then { kNothing, kWatchEndsIt, kListLacksIt, kOlderListLacksIt, kListShowsIt };
  struct Row {
    Then then;
    std::string_view after;  // a watch event that shows it bound
  };
  for (const Row& row : {Row{Then::kNothing, "ended"}, Row{Then::kWatchEndsIt, "Bound@n1"},
                         Row{Then::kListLacksIt, "Bound@n1"}, Row{Then::kOlderListLacksIt, "ended"},
                         Row{Then::kListShowsIt, "Bound@n1"}}) {
    LedgerFixture world;
    const model::HoldingPtr held = share_of("p", "n1");
    ASSERT_TRUE(world.ledger.hold(held));
    const ledger::ListMark before = world.ledger.begin_list();
    ASSERT_TRUE(read_as_gone(world, "p"));
    if (row.then == Then::kWatchEndsIt) world.ledger.end_pod("p");
    if (row.then == Then::kListLacksIt) world.list(world.ledger.begin_list(), {});
    if (row.then == Then::kOlderListLacksIt) world.list(before, {});
    if (row.then == Then::kListShowsIt) world.list(world.ledger.begin_list(), {held});
    ASSERT_TRUE(world.ledger.hold(held));
    EXPECT_EQ(world.where("p"), row.after) << static_cast<int>(row.then);
  }
}

TEST(LedgerTombstoneTest, AListOfBeforeAReadSaysNothingAgainstIt) {
  LedgerFixture world;
  const model::HoldingPtr held = share_of("p", "n1");
  ASSERT_TRUE(world.ledger.hold(held));
  const ledger::ListMark before = world.ledger.begin_list();
  ASSERT_TRUE(read_as_gone(world, "p"));
  EXPECT_TRUE(world.ledger.ended_after(before, "p"));
  EXPECT_FALSE(world.ledger.ended_after(world.ledger.begin_list(), "p"));
  world.list(before, {held});
  EXPECT_EQ(world.where("p"), "ended");
  ASSERT_TRUE(world.ledger.hold(held));
  EXPECT_EQ(world.where("p"), "ended") << "the event may be as old as the list";
}

TEST(LedgerTombstoneTest, AReadThatIsOlderThanTheEntryEndsNothing) {
  LedgerFixture world;
  const model::HoldingPtr held = share_of("p", "n1");
  ASSERT_TRUE(world.ledger.hold(held));
  const std::uint64_t asked_at = world.ledger.find("p")->sequence;
  world.ledger.end_pod("p");
  EXPECT_FALSE(world.ledger.end_pod_from_get("p", asked_at));
  ASSERT_TRUE(world.ledger.hold(held));
  EXPECT_FALSE(world.ledger.end_pod_from_get("p", asked_at));
  EXPECT_EQ(world.where("p"), "Bound@n1");
}

TEST(LedgerTombstoneTest, AnUnboundPodThatALaterListShowsMayBeBoundAgain) {
  LedgerFixture world;
  world.ledger.end_pod("p");
  EXPECT_EQ(world.reserve("p", "n1").error().cause, ledger::ReserveFailure::Cause::kEnded);
  world.list(world.ledger.begin_list(), {}, {"p"});
  EXPECT_FALSE(world.ledger.has_ended("p"));
  EXPECT_TRUE(world.reserve("p", "n1").has_value());
}

TEST(LedgerTombstoneTest, APodThatEndsAnewIsRememberedAsLongAsTheOthers) {
  base::Limits limits;
  limits.max_tombstones = 16;
  LedgerFixture world(limits);
  world.ledger.end_pod("p");
  ASSERT_TRUE(world.ledger.hold(share_of("p", "n1")));
  for (int i = 0; i < 10; ++i) world.ledger.end_pod("q" + std::to_string(i));
  world.ledger.end_pod("p");
  for (int i = 10; i < 25; ++i) world.ledger.end_pod("q" + std::to_string(i));
  EXPECT_TRUE(world.ledger.has_ended("p"));
  world.ledger.end_pod("q25");
  EXPECT_FALSE(world.ledger.has_ended("p"));
}

}  // namespace
}  // namespace snug::tombstones_test
