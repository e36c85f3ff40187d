#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ledger_fixture.hpp"

namespace snug {
namespace {

using std::chrono::milliseconds;

HoldingPtr intent_of(std::string_view uid, std::string_view node, int gpu = 0) {
  return make_holding(uid, node, {make_share(gpu, 20480, 500)});
}

std::size_t intents(LedgerFixture& world) {
  std::size_t count = 0;
  const SnapshotPtr snapshot = world.ledger.snapshot();
  for (const auto& [node, list] : snapshot->intents) count += list.size();
  return count;
}

TEST(LedgerIntentTest, AnIntentIsSeenOnItsNodeAndTakesNothing) {
  LedgerFixture world;
  world.ledger.note_intent(intent_of("p", "n2"));
  const SnapshotPtr snapshot = world.ledger.snapshot();
  const auto found = snapshot->intents.find(snapshot->names->find("n2")->value);
  ASSERT_NE(found, snapshot->intents.end());
  ASSERT_EQ(found->second.size(), 1U);
  EXPECT_EQ(found->second[0]->uid, "p");
  EXPECT_TRUE(world.node("n2")->gpus[0].empty());
  EXPECT_EQ(world.where("p"), "-");
  EXPECT_TRUE(world.reserve("other", "n2", make_whole(1)).has_value()) << "it refuses nothing";
}

TEST(LedgerIntentTest, EndsAfterItsTimeAndNotBefore) {
  Limits limits;
  limits.intent_ttl_ms = 500;
  LedgerFixture world(limits);
  world.ledger.note_intent(intent_of("p", "n1"));
  world.clock.advance(milliseconds(400));
  world.ledger.note_intent(intent_of("q", "n1"));
  world.clock.advance(milliseconds(99));
  EXPECT_EQ(intents(world), 2U);
  const std::uint64_t generation = world.generation();
  const std::uint64_t room = world.room();
  world.clock.advance(milliseconds(1));
  EXPECT_EQ(intents(world), 1U) << "the older one only";
  EXPECT_GT(world.generation(), generation);
  EXPECT_EQ(world.room(), room) << "feasibility never saw it, so nothing became free";
  world.clock.advance(milliseconds(400));
  EXPECT_EQ(intents(world), 0U);
}

TEST(LedgerIntentTest, ANewOneReplacesThePodsEarlierOneAndStartsItsTimeAnew) {
  Limits limits;
  limits.intent_ttl_ms = 500;
  LedgerFixture world(limits);
  world.ledger.note_intent(intent_of("p", "n1"));
  world.clock.advance(milliseconds(499));
  world.ledger.note_intent(intent_of("p", "n2"));
  EXPECT_EQ(intents(world), 1U);
  world.clock.advance(milliseconds(499));
  const SnapshotPtr snapshot = world.ledger.snapshot();
  EXPECT_TRUE(snapshot->intents.contains(snapshot->names->find("n2")->value));
  world.clock.advance(milliseconds(1));
  EXPECT_EQ(intents(world), 0U);
}

TEST(LedgerIntentTest, TheOldestGoesWhenThereAreTooMany) {
  Limits limits;
  limits.max_intents = 3;
  LedgerFixture world(limits);
  for (const std::string uid : {"a", "b", "c", "d"}) world.ledger.note_intent(intent_of(uid, "n1"));
  EXPECT_EQ(intents(world), 3U);
  EXPECT_EQ(world.visible().find("intent of a"), std::string::npos);
  EXPECT_NE(world.visible().find("intent of d"), std::string::npos);
  world.ledger.note_intent(intent_of("b", "n2"));
  EXPECT_EQ(intents(world), 3U) << "a replacement pushes nobody out";
  EXPECT_NE(world.visible().find("intent of c"), std::string::npos);
}

TEST(LedgerIntentTest, EndsByBindByDeletionAndByWord) {
  struct Row {
    std::string_view why;
    std::function<void(LedgerFixture&)> end;
  };
  for (const Row& row : std::vector<Row>{
           {"reserve", [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("p", "n1").has_value()); }},
           {"reserve elsewhere",
            [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("p", "n2").has_value()); }},
           {"bound by hand", [](LedgerFixture& w) { w.ledger.hold(make_unplaced("p", "n2")); }},
           {"listed as bound",
            [](LedgerFixture& w) { w.list(w.ledger.list_begins(), {intent_of("p", "n1")}); }},
           {"gone", [](LedgerFixture& w) { w.ledger.gone("p"); }},
           {"its next filter", [](LedgerFixture& w) { w.ledger.end_intent("p"); }}}) {
    LedgerFixture world;
    world.ledger.note_intent(intent_of("p", "n1"));
    const std::uint64_t generation = world.generation();
    row.end(world);
    EXPECT_EQ(intents(world), 0U) << row.why;
    EXPECT_GT(world.generation(), generation) << row.why;
    const std::uint64_t after = world.generation();
    world.ledger.end_intent("p");
    EXPECT_EQ(world.generation(), after) << "ending nothing changes nothing";
  }
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
  world.ledger.gone("q");
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

TEST(LedgerIntentTest, ReserveLeavesPromisedDevicesToTheirPodsWhileItCan) {
  LedgerFixture world({}, {"n1: A 40960 x2"});
  world.ledger.note_intent(make_holding("p", "n1", {make_share(0, 40960, 1000)}));
  const auto gpu_of = [](const HoldingPtr& holding) {
    return std::get<std::vector<ReservedDevice>>(holding->reservation.containers[0].given)
        .at(0)
        .index;
  };
  EXPECT_EQ(gpu_of(world.reserve("a", "n1", make_fraction(600)).value()), 1);
  EXPECT_EQ(gpu_of(world.reserve("b", "n1", make_fraction(600)).value()), 0)
      << "promised, and the only one left";
  EXPECT_FALSE(world.reserve("p", "n1", make_fraction(900)).has_value());
}

TEST(LedgerIntentTest, APodsOwnIntentIsNotInItsWay) {
  LedgerFixture world({}, {"n1: A 40960 x2"});
  world.ledger.note_intent(make_holding("p", "n1", {make_share(0, 40960, 1000)}));
  const HoldingPtr own = world.reserve("p", "n1", make_fraction(900)).value();
  EXPECT_EQ(std::get<std::vector<ReservedDevice>>(own->reservation.containers[0].given)[0].index,
            0);
}

}  // namespace
}  // namespace snug
