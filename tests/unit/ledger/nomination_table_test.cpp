// What is kept for nominated pods: by node, in order, and never for too many.
#include <algorithm>
#include <functional>
#include <map>

#include "unit/ledger/ledger_fixture.hpp"

namespace snug::nominations_test {
namespace {

model::NominationPtr nominated(std::string_view uid, std::string_view node,
                               std::int32_t priority = 0) {
  return std::make_shared<const model::Nomination>(
      model::Nomination{.name_space = "default",
                        .node = std::string(node),
                        .rank = {.priority = priority, .created = "2026", .uid = std::string(uid)},
                        .request = make_fraction(500)});
}

/// `n1: a b; n2: c`: who is nominated where, as decisions see it.
std::string kept(LedgerFixture& world) {
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  std::string text;
  for (std::uint32_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const auto found = snapshot->nominations.find(slot);
    if (found == snapshot->nominations.end()) continue;
    text += (text.empty() ? "" : "; ") + snapshot->nodes[slot]->name() + ":";
    for (const model::NominationPtr& nomination : found->second) text += " " + nomination->rank.uid;
  }
  return text;
}

base::Limits at_most(std::int64_t most) {
  base::Limits limits;
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

TEST(LedgerNominationTest, ChangedAmountsReplaceTheEarlierOnes) {
  LedgerFixture world;
  model::Nomination changed = *nominated("a", "n1");
  world.ledger.nominate(nominated("a", "n1"));
  const std::uint64_t before = world.generation();
  world.ledger.nominate(nominated("a", "n1"));
  EXPECT_EQ(world.generation(), before) << "the same";
  changed.host.cpu_milli = 1000;
  world.ledger.nominate(std::make_shared<const model::Nomination>(changed));
  changed.mirrored.milli.value = 500;
  world.ledger.nominate(std::make_shared<const model::Nomination>(changed));
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  const model::Nominations& on_node = snapshot->nominations.begin()->second;
  ASSERT_EQ(on_node.size(), 1U);
  EXPECT_EQ(on_node.front()->host, changed.host);
  EXPECT_EQ(on_node.front()->mirrored, changed.mirrored);
}

TEST(LedgerNominationTest, EndsByWordByEndAndByWhatThePodHolds) {
  struct Row {
    std::string_view why;
    std::function<void(LedgerFixture&)> end;
  };
  for (const Row& row : std::vector<Row>{
           {"end_nomination", [](LedgerFixture& w) { w.ledger.end_nomination("a"); }},
           {"gone", [](LedgerFixture& w) { w.ledger.end_pod("a"); }},
           {"reserve", [](LedgerFixture& w) { ASSERT_TRUE(w.reserve("a", "n2").has_value()); }},
           {"bound", [](LedgerFixture& w) { w.ledger.hold(make_holding("a", "n2", {})); }},
           {"a list", [](LedgerFixture& w) { w.list(w.ledger.begin_list(), {}, {"a"}); }}}) {
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
  EXPECT_FALSE(world.ledger.nominate(nominated("c", "n1")));
  EXPECT_EQ(world.generation(), before) << "nothing has changed";
  EXPECT_TRUE(world.ledger.nominate(nominated("a", "n2"))) << "a change pushes nobody out";
  EXPECT_EQ(kept(world), "n1: b; n2: a");
  world.ledger.end_nomination("b");
  EXPECT_TRUE(world.ledger.nominate(nominated("c", "n1")));
  EXPECT_EQ(kept(world), "n1: c; n2: a");
}

TEST(LedgerNominationTest, TheLastByRankIsGivenUpForOneThatComesBeforeIt) {
  LedgerFixture world(at_most(2));
  world.ledger.nominate(nominated("a", "n1", 1));
  world.ledger.nominate(nominated("b", "n2", 2));
  const std::uint64_t room = world.room();
  EXPECT_FALSE(world.ledger.nominate(nominated("c", "n2", 3)));
  EXPECT_EQ(kept(world), "n2: c b");
  EXPECT_GT(world.room(), room) << "what was kept for a is free";
  EXPECT_FALSE(world.ledger.nominate(nominated("a", "n1", 1)));
  EXPECT_EQ(kept(world), "n2: c b");
  EXPECT_TRUE(world.ledger.nominate(nominated("c", "n2", 1))) << "its priority has changed";
  EXPECT_FALSE(world.ledger.nominate(nominated("a", "n1", 2)));
  EXPECT_EQ(kept(world), "n1: a; n2: b");
}

TEST(LedgerNominationTest, AListMakesPlaceBeforeItFillsIt) {
  LedgerFixture world(at_most(2));
  world.ledger.nominate(nominated("a", "n1"));
  world.ledger.nominate(nominated("b", "n1"));
  const ledger::ListMark mark = world.ledger.begin_list();
  const ledger::ListedPods listed{
      .bound = {},
      .living = {"b", "c", "d"},
      .nominated = {nominated("c", "n1"), nominated("b", "n2"), nominated("d", "n2")}};
  EXPECT_EQ(world.ledger.replace_holdings(mark, listed).dropped_nominations, 1U);
  EXPECT_EQ(kept(world), "n1: c; n2: b");
}

TEST(LedgerNominationTest, AListKeepsTheFirstByRankInWhateverOrderItShowsThem) {
  std::vector<std::string> order{"a", "b", "c", "d"};
  const std::map<std::string, std::int32_t> priorities{{"a", 1}, {"b", 4}, {"c", 2}, {"d", 3}};
  do {
    LedgerFixture world(at_most(2));
    ledger::ListedPods listed;
    for (const std::string& uid : order) {
      listed.living.insert(uid);
      listed.nominated.push_back(nominated(uid, "n1", priorities.at(uid)));
    }
    const ledger::ListMark mark = world.ledger.begin_list();
    EXPECT_EQ(world.ledger.replace_holdings(mark, listed).dropped_nominations, 2U);
    EXPECT_EQ(kept(world), "n1: b d");
  } while (std::ranges::next_permutation(order).found);
}

TEST(LedgerNominationTest, AListTellsHowManyAreNotKept) {
  struct Row {
    std::string_view why;
    std::function<void(LedgerFixture&)> before;  // what the ledger knows already
    std::function<void(LedgerFixture&)> since;   // the list was begun
    std::size_t not_kept;
    std::string_view kept;
  };
  const auto nothing = [](LedgerFixture& /*world*/) {};
  const auto newer = [](std::string_view uid, std::int32_t priority) {
    return [=](LedgerFixture& w) { w.ledger.nominate(nominated(uid, "n1", priority)); };
  };
  const auto holds = [](LedgerFixture& w) { w.ledger.hold(make_holding("b", "n2", {})); };
  for (const Row& row : std::vector<Row>{
           {"as many as there may be", nothing, nothing, 0, "n1: a b"},
           {"a newer one, and the list's", nothing, newer("z", 9), 1, "n1: z a"},
           {"a newer one that comes last", nothing, newer("z", 0), 1, "n1: a b"},
           {"a newer one that the list shows", nothing, newer("b", 1), 0, "n1: a b"},
           {"one of the list holds something by now", newer("z", 9), holds, 0, "n1: a"},
           {"one of the list has ended by now", nothing,
            [&](LedgerFixture& w) {
              newer("z", 9)(w);
              w.ledger.end_pod("b");
            },
            0, "n1: z a"}}) {
    LedgerFixture world(at_most(2));
    row.before(world);
    const ledger::ListMark mark = world.ledger.begin_list();
    row.since(world);
    const ledger::ListedPods listed{
        .bound = {},
        .living = {"a", "b"},
        .nominated = {nominated("a", "n1", 2), nominated("b", "n1", 1)}};
    EXPECT_EQ(world.ledger.replace_holdings(mark, listed).dropped_nominations, row.not_kept)
        << row.why;
    EXPECT_EQ(kept(world), row.kept) << row.why;
  }
}

}  // namespace
}  // namespace snug::nominations_test
