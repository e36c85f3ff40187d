#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ledger_fixture.hpp"

namespace snug::intents_test {
namespace {

using std::chrono::milliseconds;

model::HoldingPtr intent_of(std::string_view uid, std::string_view node, int gpu = 0) {
  return make_holding(uid, node, {make_share(gpu, 20480, 500)});
}

std::size_t intents(LedgerFixture& world) {
  std::size_t count = 0;
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  for (const auto& [node, list] : snapshot->intents) count += list.size();
  return count;
}

TEST(LedgerIntentTest, AnIntentIsSeenOnItsNodeAndIsNoHolding) {
  LedgerFixture world;
  world.ledger.note_intent(intent_of("p", "n2"));
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  const auto found = snapshot->intents.find(snapshot->names->find("n2")->value);
  ASSERT_NE(found, snapshot->intents.end());
  ASSERT_EQ(found->second.size(), 1U);
  EXPECT_EQ(found->second[0]->uid, "p");
  EXPECT_TRUE(world.node("n2")->gpus[0].empty());
  EXPECT_EQ(world.where("p"), "-");
}

TEST(LedgerIntentTest, EndsAfterItsTimeAndNotBefore) {
  base::Limits limits;
  limits.intent_ttl_ms = 500;
  LedgerFixture world(limits);
  world.ledger.note_intent(intent_of("p", "n1"));
  world.clock.advance(milliseconds(400));
  world.ledger.note_intent(intent_of("q", "n1"));
  world.clock.advance(milliseconds(99));
  EXPECT_EQ(intents(world), 2U);
  const std::uint64_t generation = world.generation();
  const std::uint64_t room = world.room();
  const std::uint64_t ended = world.intents_ended();
  world.clock.advance(milliseconds(1));
  EXPECT_EQ(intents(world), 1U) << "the older one only";
  EXPECT_GT(world.generation(), generation);
  EXPECT_GT(world.intents_ended(), ended);
  EXPECT_EQ(world.room(), room) << "who was refused for other reasons need not be woken";
  world.clock.advance(milliseconds(400));
  EXPECT_EQ(intents(world), 0U);
}

TEST(LedgerIntentTest, ANewOneReplacesThePodsEarlierOneAndStartsItsTimeAnew) {
  base::Limits limits;
  limits.intent_ttl_ms = 500;
  LedgerFixture world(limits);
  world.ledger.note_intent(intent_of("p", "n1"));
  world.clock.advance(milliseconds(499));
  world.ledger.note_intent(intent_of("p", "n2"));
  EXPECT_EQ(intents(world), 1U);
  world.clock.advance(milliseconds(499));
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  EXPECT_TRUE(snapshot->intents.contains(snapshot->names->find("n2")->value));
  world.clock.advance(milliseconds(1));
  EXPECT_EQ(intents(world), 0U);
}

TEST(LedgerIntentTest, TheOldestGoesWhenThereAreTooMany) {
  base::Limits limits;
  limits.max_intents = 3;
  LedgerFixture world(limits);
  for (const std::string uid : {"a", "b", "c", "d"}) world.ledger.note_intent(intent_of(uid, "n1"));
  EXPECT_EQ(intents(world), 3U);
  EXPECT_EQ(world.intents_ended(), 1U) << "the place of the first is there for others";
  EXPECT_EQ(world.visible().find("intent of a"), std::string::npos);
  EXPECT_NE(world.visible().find("intent of d"), std::string::npos);
  world.ledger.note_intent(intent_of("b", "n2"));
  EXPECT_EQ(intents(world), 3U) << "a replacement pushes nobody out";
  EXPECT_NE(world.visible().find("intent of c"), std::string::npos);
}

/// What reserve makes of a half of n1, as filter would have noted it.
model::HoldingPtr noted(LedgerFixture& world, std::string_view uid) {
  const OwnedIncomingPod claim(make_fraction(500), world.profile, std::string(uid));
  const model::NodeStatePtr node = world.node("n1");
  const plan::NodeChoice choice = choose_without_others(*node, claim);
  return plan::to_holding(*node, claim.view(), choice.placement);
}

TEST(LedgerIntentTest, EndsByBindByDeletionAndByWordAndFreesWhatItsPodDoesNotTake) {
  struct Row {
    std::string_view why;
    std::function<void(LedgerFixture&)> end;
    bool frees = true;
  };
  for (const Row& row : std::vector<Row>{
           {"its own bind", [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("p", "n1").has_value()); },
            false},
           {"a bind elsewhere",
            [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("p", "n2").has_value()); }},
           {"a bind of less",
            [](LedgerFixture& w) {
              ASSERT_TRUE(w.reserve("p", "n1", make_fraction(400)).has_value());
            }},
           {"bound by hand", [](LedgerFixture& w) { w.ledger.hold(make_unplaced("p", "n2")); }},
           {"listed as bound",
            [](LedgerFixture& w) { w.list(w.ledger.begin_list(), {intent_of("p", "n1")}); }},
           {"gone", [](LedgerFixture& w) { w.ledger.end_pod("p"); }},
           {"its next filter", [](LedgerFixture& w) { w.ledger.end_intent("p"); }}}) {
    LedgerFixture world;
    world.ledger.note_intent(noted(world, "p"));
    const std::uint64_t generation = world.generation();
    const std::uint64_t ended = world.intents_ended();
    row.end(world);
    EXPECT_EQ(intents(world), 0U) << row.why;
    EXPECT_GT(world.generation(), generation) << row.why;
    EXPECT_EQ(world.intents_ended() > ended, row.frees) << row.why;
    const std::uint64_t after = world.generation();
    world.ledger.end_intent("p");
    EXPECT_EQ(world.generation(), after) << "ending nothing changes nothing";
  }
}

TEST(LedgerIntentTest, ANewOneFreesTheEarlierPlaceOnlyWhereItIsAnother) {
  LedgerFixture world;
  world.ledger.note_intent(intent_of("p", "n1"));
  const std::uint64_t ended = world.intents_ended();
  world.ledger.note_intent(intent_of("p", "n1"));
  EXPECT_EQ(world.intents_ended(), ended);
  world.ledger.note_intent(intent_of("p", "n2"));
  EXPECT_GT(world.intents_ended(), ended);
}

/// A pod that takes any mode joins it now, and could not while it would have opened the GPU itself.
TEST(LedgerIntentTest, ABindThatOpensAGpuInAnotherModeThanItsFirstLetsOthersIn) {
  LedgerFixture world({}, {"n1: A 40960 modes=time-slicing+mps"});
  model::GpuRequest mps = make_fraction(500);
  mps.containers.front().isolation = model::Isolation::kMps;
  const OwnedIncomingPod claim(mps, world.profile, "p");
  const model::NodeStatePtr node = world.node("n1");
  world.ledger.note_intent(
      plan::to_holding(*node, claim.view(), choose_without_others(*node, claim).placement));
  EXPECT_EQ(world.reserve("q", "n1", make_fraction(250)).error().reason,
            model::ReasonCode::kPromised);
  const std::uint64_t ended = world.intents_ended();
  ASSERT_TRUE(world.reserve("p", "n1", mps).has_value());
  EXPECT_GT(world.intents_ended(), ended);
  EXPECT_TRUE(world.reserve("q", "n1", make_fraction(250)).has_value());
}

TEST(LedgerIntentTest, ARefusedReserveKeepsTheIntent) {
  LedgerFixture world;
  world.ledger.note_intent(intent_of("p", "n1"));
  EXPECT_FALSE(world.reserve("p", "n1", make_memory(40961)).has_value());
  EXPECT_EQ(intents(world), 1U);
}

TEST(LedgerIntentTest, APodThatHoldsOrHasEndedGetsNone) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  world.ledger.end_pod("q");
  world.ledger.note_intent(intent_of("p", "n2"));
  world.ledger.note_intent(intent_of("q", "n2"));
  EXPECT_EQ(intents(world), 0U);
}

TEST(LedgerIntentTest, OnANodeThatIsGoneItIsNotSeenAndComesBackWithIt) {
  LedgerFixture world;
  world.ledger.note_intent(intent_of("p", "n1"));
  world.ledger.remove_node("n1");
  EXPECT_EQ(intents(world), 0U);
  world.ledger.put_node(make_node("n1: A 40960"));
  EXPECT_EQ(intents(world), 1U);
}

TEST(LedgerIntentTest, ReserveLeavesPromisedDevicesToTheirPods) {
  LedgerFixture world({}, {"n1: A 40960 x2"});
  world.ledger.note_intent(make_holding("p", "n1", {make_share(0, 40960, 1000)}));
  const auto gpu_of = [](const model::HoldingPtr& holding) {
    return std::get<std::vector<model::ReservedDevice>>(holding->reservation.containers[0].assigned)
        .at(0)
        .index;
  };
  EXPECT_EQ(gpu_of(world.reserve("a", "n1", make_fraction(600)).value()), 1);
  EXPECT_EQ(world.reserve("b", "n1", make_fraction(600)).error().reason,
            model::ReasonCode::kPromised);
  EXPECT_EQ(gpu_of(world.reserve("p", "n1", make_fraction(900)).value()), 0);
  EXPECT_EQ(world.reserve("b", "n1", make_fraction(600)).error().reason,
            model::ReasonCode::kNoRoom);
}

/// Two filter calls at one time may promise one place twice.
TEST(LedgerIntentTest, OfTwoPodsThatWerePromisedOnePlaceTheEarlierHasIt) {
  LedgerFixture world({}, {"n1: A 40960"});
  world.ledger.note_intent(make_holding("p", "n1", {make_share(0, 40960, 1000)}));
  world.ledger.note_intent(make_holding("q", "n1", {make_share(0, 40960, 1000)}));
  EXPECT_EQ(world.reserve("q", "n1", make_fraction(600)).error().reason,
            model::ReasonCode::kPromised);
  EXPECT_TRUE(world.reserve("p", "n1", make_fraction(600)).has_value());
}

TEST(LedgerIntentTest, AnIntentElsewhereGivesNoPrecedenceHere) {
  LedgerFixture world;
  world.ledger.note_intent(make_holding("p", "n2", {make_share(0, 40960, 1000)}));
  world.ledger.note_intent(make_holding("q", "n1", {make_share(0, 40960, 1000)}));
  EXPECT_EQ(world.reserve("p", "n1", make_fraction(600)).error().reason,
            model::ReasonCode::kPromised);
}

/// Intents come and go without a new state of their node.
TEST(LedgerIntentTest, WhatAPlanRemembersOfANodeHoldsForNoIntentOnIt) {
  LedgerFixture world({}, {"n1: A 40960"});
  plan::VerdictCache cache;
  const OwnedIncomingPod claim(make_fraction(600), world.profile, "q");
  const std::vector<std::string_view> names = {"n1"};
  const auto ask = [&] {
    const model::SnapshotPtr snapshot = world.ledger.snapshot();
    return plan::plan({.snapshot = *snapshot, .incoming = claim.view(), .cache = &cache}, names)
        .verdicts[0]
        .reason;
  };
  for (int turn = 0; turn < 2; ++turn) {
    world.ledger.note_intent(intent_of("p", "n1"));
    EXPECT_EQ(ask(), model::ReasonCode::kPromised);
    world.ledger.end_intent("p");
    EXPECT_EQ(ask(), model::ReasonCode::kNone);
  }
}

TEST(LedgerIntentTest, APodsOwnIntentIsNotInItsWay) {
  LedgerFixture world({}, {"n1: A 40960 x2"});
  world.ledger.note_intent(make_holding("p", "n1", {make_share(0, 40960, 1000)}));
  const model::HoldingPtr own = world.reserve("p", "n1", make_fraction(900)).value();
  EXPECT_EQ(std::get<std::vector<model::ReservedDevice>>(own->reservation.containers[0].assigned)[0]
                .index,
            0);
}

}  // namespace
}  // namespace snug::intents_test
