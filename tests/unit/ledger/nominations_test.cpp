// What is kept for nominated pods: by node, in order, and never for too many.
#include <functional>

#include "unit/ledger/ledger_fixture.hpp"

namespace snug {
namespace {

NominationPtr nominated(std::string_view uid, std::string_view node, std::int32_t priority = 0) {
  return std::make_shared<const Nomination>(
      Nomination{.name_space = "default",
                 .node = std::string(node),
                 .rank = {.priority = priority, .created = "2026", .uid = std::string(uid)},
                 .request = make_fraction(500)});
}

/// `n1: a b; n2: c`: who is nominated where, as decisions see it.
std::string kept(LedgerFixture& world) {
  const SnapshotPtr snapshot = world.ledger.snapshot();
  std::string text;
  for (std::uint32_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const auto found = snapshot->nominations.find(slot);
    if (found == snapshot->nominations.end()) continue;
    text += (text.empty() ? "" : "; ") + snapshot->nodes[slot]->name() + ":";
    for (const NominationPtr& nomination : found->second) text += " " + nomination->rank.uid;
  }
  return text;
}

Limits at_most(std::int64_t most) {
  Limits limits;
  limits.max_nominations = most;
  return limits;
}

TEST(LedgerNominationTest, TheFirstByRankComesFirstOnEachNode) {
  LedgerFixture world;
  world.ledger.nominate(nominated("c", "n1", 1));
  world.ledger.nominate(nominated("b", "n2"));
  world.ledger.nominate(nominated("a", "n1", 1));
  world.ledger.nominate(nominated("d", "n1", 2));
  EXPECT_EQ(kept(world), "n1: d a c; n2: b");
  world.ledger.nominate(nominated("d", "n1", 0));
  EXPECT_EQ(kept(world), "n1: a c d; n2: b") << "its priority has changed";
  world.ledger.nominate(nominated("a", "n2", 1));
  EXPECT_EQ(kept(world), "n1: c d; n2: a b") << "it has moved";
  world.ledger.nominate(nominated("e", "n9"));
  EXPECT_EQ(kept(world), "n1: c d; n2: a b") << "a node that is not known";
}

TEST(LedgerNominationTest, EndsByWordByEndAndByWhatThePodHolds) {
  struct Row {
    std::string_view why;
    std::function<void(LedgerFixture&)> end;
  };
  for (const Row& row : std::vector<Row>{
           {"end_nomination", [](LedgerFixture& w) { w.ledger.end_nomination("a"); }},
           {"gone", [](LedgerFixture& w) { w.ledger.gone("a"); }},
           {"reserve", [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("a", "n2").has_value()); }},
           {"bound", [](LedgerFixture& w) { w.ledger.hold(make_holding("a", "n2", {})); }},
           {"a list", [](LedgerFixture& w) { w.list(w.ledger.list_begins(), {}, {"a"}); }}}) {
    LedgerFixture world;
    world.ledger.nominate(nominated("a", "n1"));
    ASSERT_EQ(kept(world), "n1: a");
    row.end(world);
    EXPECT_EQ(kept(world), "") << row.why;
  }
}

TEST(LedgerNominationTest, OneMoreThanThereMayBeIsNotKept) {
  LedgerFixture world(at_most(2));
  EXPECT_TRUE(world.ledger.nominate(nominated("a", "n1")));
  EXPECT_TRUE(world.ledger.nominate(nominated("b", "n1")));
  const std::uint64_t before = world.generation();
  EXPECT_FALSE(world.ledger.nominate(nominated("c", "n1", 9)));
  EXPECT_EQ(world.generation(), before) << "nothing has changed";
  EXPECT_TRUE(world.ledger.nominate(nominated("a", "n2"))) << "a change pushes nobody out";
  EXPECT_EQ(kept(world), "n1: b; n2: a");
  world.ledger.end_nomination("b");
  EXPECT_TRUE(world.ledger.nominate(nominated("c", "n1")));
  EXPECT_EQ(kept(world), "n1: c; n2: a");
}

TEST(LedgerNominationTest, AListMakesPlaceBeforeItFillsIt) {
  LedgerFixture world(at_most(2));
  world.ledger.nominate(nominated("a", "n1"));
  world.ledger.nominate(nominated("b", "n1"));
  const ListMark mark = world.ledger.list_begins();
  const ListedPods listed{
      .bound = {},
      .living = {"b", "c", "d"},
      .nominated = {nominated("c", "n1"), nominated("b", "n2"), nominated("d", "n2")}};
  world.ledger.replace_holdings(mark, listed);
  EXPECT_EQ(kept(world), "n1: c; n2: b");
}

}  // namespace
}  // namespace snug
