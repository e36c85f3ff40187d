#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
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

TEST(LedgerFindTest, APodWithGpusIsFoundByNameUntilItEnds) {
  LedgerFixture world;
  const auto named = [](std::string_view uid, std::string_view node, const std::string& name) {
    auto holding = make_holding(uid, node, {make_share(0, 4096, 100)});
    holding->pod = name;
    return holding;
  };
  const auto uid_of = [&](std::string_view name_space, std::string_view name) {
    const auto entry = world.ledger.find_gpu_pod(name_space, name);
    return entry ? entry->holding->uid : "-";
  };
  auto plain_pod = make_holding("host", "n1", {});
  plain_pod->reservation.containers.clear();
  world.ledger.hold(plain_pod);
  world.ledger.hold(named("u1", "n1", "a"));
  world.ledger.hold(named("u9", "no such node", "b"));
  ASSERT_TRUE(world.reserve("c", "n2").has_value());
  EXPECT_EQ(uid_of("default", "host"), "-") << "it holds no GPU";
  EXPECT_EQ(uid_of("default", "a"), "u1");
  EXPECT_EQ(uid_of("other", "a"), "-");
  EXPECT_EQ(uid_of("default", "b"), "u9");
  EXPECT_EQ(uid_of("default", "c"), "c");
  world.ledger.hold(make_terminating(named("u1", "n1", "a")));
  EXPECT_EQ(uid_of("default", "a"), "u1");
  world.ledger.hold(named("u2", "n2", "a"));
  EXPECT_EQ(uid_of("default", "a"), "u2") << "the newest pod with this name";
  world.ledger.end_pod("u1");
  EXPECT_EQ(uid_of("default", "a"), "u2");
  world.ledger.end_pod("u2");
  EXPECT_EQ(uid_of("default", "a"), "-");
  world.ledger.release("c");
  EXPECT_EQ(uid_of("default", "c"), "-");
  world.list(world.ledger.begin_list(), {});
  EXPECT_EQ(uid_of("default", "b"), "-");
}

TEST(LedgerFindTest, ThePodsWithAnEntryAreFoundInOneCall) {
  LedgerFixture world;
  std::vector<std::string> names;
  names.reserve(3'000);
  for (int i = 0; i < 3'000; ++i) names.push_back("p" + std::to_string(i));
  std::unordered_set<std::string_view> expected;
  for (const int i : {0, 1'023, 1'024, 2'048, 2'999}) {
    const std::string& uid = names[static_cast<std::size_t>(i)];
    world.ledger.hold(share_of(uid, "n1", 10));
    expected.insert(uid);
  }
  const std::vector<std::string_view> uids(names.begin(), names.end());
  EXPECT_EQ(world.ledger.with_entry(uids), expected);
  EXPECT_TRUE(world.ledger.with_entry({}).empty());
}

TEST(LedgerOwnBindTest, ASuccessIsToldOnceHoweverItBecameKnown) {
  struct Row {
    std::string_view name;
    std::function<void(LedgerFixture&, const model::HoldingPtr&)> ends;
    bool is_told;
  };
  const std::vector<Row> rows = {
      {"answer", [](LedgerFixture& w, const auto& /*own*/) { w.ledger.mark_bound("p"); }, true},
      {"watch", [](LedgerFixture& w, const auto& own) { w.ledger.hold(own); }, true},
      {"GET after an unknown outcome",
       [](LedgerFixture& w, const auto& own) {
         w.ledger.mark_unsettled("p");
         w.ledger.hold_from_get(own);
       },
       true},
      {"list after an unknown outcome",
       [](LedgerFixture& w, const auto& own) {
         w.ledger.mark_unsettled("p");
         w.list(w.ledger.begin_list(), {own});
       },
       true},
      {"bound otherwise",
       [](LedgerFixture& w, const auto& /*own*/) { w.ledger.hold(share_of("p", "n1", 100)); },
       false},
      {"unknown", [](LedgerFixture& w, const auto& /*own*/) { w.ledger.mark_unsettled("p"); },
       false},
      {"failed", [](LedgerFixture& w, const auto& /*own*/) { w.ledger.release("p"); }, false},
      {"deleted", [](LedgerFixture& w, const auto& /*own*/) { w.ledger.end_pod("p"); }, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    LedgerFixture world;
    const auto own = world.reserve("p", "n1");
    ASSERT_TRUE(own.has_value());
    world.ledger.hold(share_of("of another scheduler", "n2"));
    EXPECT_TRUE(world.ledger.take_own_binds().empty());
    row.ends(world, *own);
    const std::vector<model::HoldingPtr> told = world.ledger.take_own_binds();
    ASSERT_EQ(told.size(), row.is_told ? 1U : 0U);
    if (!row.is_told) continue;
    EXPECT_EQ(told[0]->uid, "p");
    world.ledger.mark_bound("p");
    world.ledger.hold(*own);
    EXPECT_TRUE(world.ledger.take_own_binds().empty());
  }
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
