#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ledger_fixture.hpp"

namespace snug::nodes_test {
namespace {

model::HoldingPtr share_of(std::string_view uid, std::string_view node) {
  return make_holding(uid, node, {make_share(0, 10240, 250)});
}

model::NodeInventory with_load(std::string_view text) {
  model::NodeInventory node = make_node(text);
  node.gpus[0].load = model::GpuLoad{.memory_percent = 40, .compute_percent = 10};
  return node;
}

TEST(LedgerNodesTest, ALoadIsInTheNextSnapshotAndIsNoChangeOfSupply) {
  LedgerFixture world;
  const model::SnapshotPtr before = world.ledger.snapshot();
  ASSERT_TRUE(world.ledger.put_node(with_load("n1: A 40960")));
  const model::SnapshotPtr after = world.ledger.snapshot();
  const std::uint32_t slot = after->names->find("n1")->value;
  EXPECT_EQ(after->nodes[slot]->gpus[0].info->load, with_load("n1: A 40960").gpus[0].load);
  EXPECT_NE(after->nodes.version(slot), before->nodes.version(slot))
      << "verdicts on the old load must not be used again";
  EXPECT_EQ(after->inventory_generation, before->inventory_generation);
}

TEST(LedgerNodesTest, AChangeOfLoadMakesNoRoom) {
  LedgerFixture world;
  const auto makes_room = [&](model::NodeInventory node) {
    const std::uint64_t generation = world.generation();
    const std::uint64_t room = world.room();
    world.ledger.put_node(std::move(node));
    EXPECT_NE(world.generation(), generation) << "there is a new state";
    return world.room() != room;
  };
  EXPECT_FALSE(makes_room(with_load("n1: A 40960")));
  EXPECT_FALSE(makes_room(make_node("n1: A 40960"))) << "the load is unknown again";
  EXPECT_TRUE(makes_room(with_load("n1: A 40960 x2"))) << "a GPU more, and a load";
  EXPECT_TRUE(makes_room(with_load("n3: A 40960"))) << "a new node";
  const std::uint64_t room = world.room();
  world.ledger.replace_nodes(
      {make_node("n1: A 40960 x2"), make_node("n2: A 40960"), make_node("n3: A 40960")});
  EXPECT_EQ(world.room(), room) << "a list with other loads";
}

TEST(LedgerNodesTest, ANodeThatGoesAndComesBackFindsItsHoldings) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n1"));
  const std::string before = world.visible();
  world.ledger.remove_node("n1");
  EXPECT_EQ(world.node("n1"), nullptr);
  EXPECT_EQ(world.where("p"), "Bound@n1");
  EXPECT_EQ(world.reserve("q", "n1").error().reason, model::ReasonCode::kUnknownNode);
  world.ledger.put_node(make_node("n1: A 40960"));
  EXPECT_EQ(world.visible(), before);
}

TEST(LedgerNodesTest, APodMaySeeItsNodeBeforeWeDo) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n9"));
  EXPECT_EQ(world.node("n9"), nullptr);
  world.ledger.put_node(make_node("n9: A 40960"));
  EXPECT_EQ(world.node("n9")->gpus[0].used_compute, base::MilliGpu{250});
  world.expect_sums();
}

TEST(LedgerNodesTest, APodThatEndsWhileItsNodeIsGoneLeavesNothing) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n1"));
  world.ledger.remove_node("n1");
  world.ledger.end_pod("p");
  world.ledger.put_node(make_node("n1: A 40960"));
  EXPECT_TRUE(world.node("n1")->gpus[0].empty());
  EXPECT_TRUE(world.node("n1")->holdings.empty());
}

TEST(LedgerNodesTest, SlotsAreReusedAndNeverMixedUp) {
  LedgerFixture world({}, {});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 200; ++i) {
      const std::string name = "r" + std::to_string(round) + "-" + std::to_string(i);
      world.ledger.put_node(make_node(name + ": A 40960 x" + std::to_string(1 + i % 3)));
    }
    const model::SnapshotPtr snapshot = world.ledger.snapshot();
    EXPECT_EQ(snapshot->names->size(), 200U);
    EXPECT_LE(snapshot->nodes.size(), 200U) << "the slots of gone nodes are used again";
    for (int i = 0; i < 200; ++i) {
      const std::string name = "r" + std::to_string(round) + "-" + std::to_string(i);
      const std::optional<base::NodeIndex> slot = snapshot->names->find(name);
      ASSERT_TRUE(slot) << name;
      ASSERT_NE(snapshot->nodes[slot->value], nullptr);
      EXPECT_EQ(snapshot->nodes[slot->value]->name(), name);
      world.ledger.remove_node(name);
    }
  }
  const model::SnapshotPtr empty = world.ledger.snapshot();
  EXPECT_TRUE(empty->names->empty());
  for (std::size_t i = 0; i < empty->nodes.size(); ++i) EXPECT_EQ(empty->nodes[i], nullptr);
}

TEST(LedgerNodesTest, AWholeListOfNodesReplacesAll) {
  LedgerFixture world;
  world.ledger.hold(share_of("p", "n1"));
  world.ledger.replace_nodes({make_node("n2: A 40960"), make_node("n3: T 16384")});
  EXPECT_EQ(world.node("n1"), nullptr);
  ASSERT_NE(world.node("n2"), nullptr);
  ASSERT_NE(world.node("n3"), nullptr);
  world.ledger.replace_nodes({make_node("n1: A 40960")});
  EXPECT_EQ(world.node("n1")->gpus[0].used_compute, base::MilliGpu{250});
  EXPECT_EQ(world.node("n2"), nullptr);
  world.ledger.replace_nodes({});
  EXPECT_TRUE(world.ledger.snapshot()->names->empty());
}

TEST(LedgerNodesTest, WhatMayMakeRoomIsCountedAndWhatCannotIsNot) {
  struct Row {
    std::string_view why;
    std::function<void(ledger::Ledger&)> change;
    bool changes;
    bool makes_room;
  };
  const std::vector<Row> rows = {
      {"the same inventory", [](ledger::Ledger& l) { l.put_node(make_node("n1: A 40960")); }, false,
       false},
      {"a new node", [](ledger::Ledger& l) { l.put_node(make_node("n3: A 40960")); }, true, true},
      {"a GPU more", [](ledger::Ledger& l) { l.put_node(make_node("n1: A 40960 x2")); }, true,
       true},
      {"the node goes", [](ledger::Ledger& l) { l.remove_node("n1"); }, true, false},
      {"a node with a pod goes",
       [](ledger::Ledger& l) {
         l.hold(share_of("p", "n1"));
         l.remove_node("n1");
       },
       true, true},
      {"a list without a node with a pod",
       [](ledger::Ledger& l) {
         l.hold(share_of("p", "n1"));
         l.replace_nodes({make_node("n2: A 40960")});
       },
       true, true},
      {"an unknown node goes", [](ledger::Ledger& l) { l.remove_node("n9"); }, false, false},
      {"the same list",
       [](ledger::Ledger& l) {
         l.replace_nodes({make_node("n1: A 40960"), make_node("n2: A 40960")});
       },
       false, false},
      {"a list with a node more",
       [](ledger::Ledger& l) {
         l.replace_nodes(
             {make_node("n1: A 40960"), make_node("n2: A 40960"), make_node("n3: A 40960")});
       },
       true, true},
      {"a list with a node less",
       [](ledger::Ledger& l) { l.replace_nodes({make_node("n2: A 40960")}); }, true, false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    LedgerFixture world;
    const std::uint64_t generation = world.generation();
    const std::uint64_t room = world.room();
    row.change(world.ledger);
    EXPECT_EQ(world.generation() != generation, row.changes);
    EXPECT_EQ(world.room() != room, row.makes_room);
    EXPECT_GE(world.generation(), generation);
  }
}

TEST(LedgerNodesTest, NodesBeyondTheLimitAreNotTakenInAndKnownOnesStillChange) {
  base::Limits limits;
  limits.max_nodes = 2;
  LedgerFixture world(limits);
  const std::string before = world.visible();
  EXPECT_FALSE(world.ledger.put_node(make_node("n3: A 40960")));
  EXPECT_EQ(world.visible(), before);
  EXPECT_EQ(world.ledger.replace_nodes({make_node("n1: A 40960"), make_node("n2: A 40960"),
                                        make_node("n3: A 40960"), make_node("n4: A 40960")}),
            2U);
  EXPECT_EQ(world.visible(), before);
  EXPECT_TRUE(world.ledger.put_node(make_node("n2: T 16384")));
  EXPECT_EQ(world.node("n2")->gpus[0].memory, base::MebiBytes{16384});
  world.ledger.hold(share_of("p", "n9"));
  EXPECT_FALSE(world.ledger.put_node(make_node("n9: A 40960")));
  world.ledger.remove_node("n1");
  EXPECT_TRUE(world.ledger.put_node(make_node("n9: A 40960")));
  EXPECT_EQ(world.node("n9")->gpus[0].used_compute, base::MilliGpu{250});
  EXPECT_EQ(world.ledger.replace_nodes({make_node("a: A 40960"), make_node("b: A 40960")}), 0U)
      << "what goes makes place for what comes";
}

TEST(LedgerNodesTest, HealthThatComesBackMakesRoom) {
  LedgerFixture world({}, {"n1: A 40960 unhealthy"});
  EXPECT_EQ(world.reserve("p", "n1").error().reason, model::ReasonCode::kUnhealthy);
  const std::uint64_t room = world.room();
  world.ledger.put_node(make_node("n1: A 40960"));
  EXPECT_GT(world.room(), room);
  EXPECT_TRUE(world.reserve("p", "n1").has_value());
}

TEST(LedgerSnapshotTest, AnOldSnapshotNeverChanges) {
  LedgerFixture world({}, {"n1: A 40960 x2", "n2: A 40960"});
  ASSERT_TRUE(world.reserve("a", "n1").has_value());
  world.ledger.note_intent(share_of("i", "n2"));
  const model::SnapshotPtr old = world.ledger.snapshot();
  const std::string before = describe(*old);
  const base::Generation generation = old->generation;
  ASSERT_TRUE(world.reserve("b", "n2").has_value());
  world.ledger.end_pod("a");
  world.ledger.end_intent("i");
  world.ledger.put_node(make_node("n1: T 16384"));
  world.ledger.remove_node("n2");
  world.ledger.put_node(make_node("n3: A 40960"));
  EXPECT_NE(describe(*world.ledger.snapshot()), before);
  EXPECT_EQ(describe(*old), before);
  EXPECT_EQ(old->generation, generation);
  EXPECT_EQ(old->names->size(), 2U);
}

TEST(LedgerSnapshotTest, OutlivesItsLedger) {
  model::SnapshotPtr snapshot;
  std::string before;
  {
    LedgerFixture world;
    ASSERT_TRUE(world.reserve("a", "n1").has_value());
    snapshot = world.ledger.snapshot();
    before = describe(*snapshot);
  }
  EXPECT_EQ(describe(*snapshot), before);
}

TEST(LedgerSnapshotTest, IsTheSameUntilSomethingChanges) {
  LedgerFixture world;
  const model::SnapshotPtr first = world.ledger.snapshot();
  EXPECT_EQ(world.ledger.snapshot(), first);
  ASSERT_TRUE(world.reserve("a", "n1").has_value());
  const model::SnapshotPtr second = world.ledger.snapshot();
  EXPECT_NE(second, first);
  EXPECT_GT(second->generation, first->generation);
  const std::size_t n2 = second->names->find("n2")->value;
  EXPECT_EQ(second->nodes[n2], first->nodes[n2]) << "what did not change is shared";
}

TEST(LedgerNodeTest, ThousandsOfPodsWithoutGpusAreCountedAndNotListed) {
  constexpr int kPods = 1'100;
  LedgerFixture world;
  const auto pod = [](int number) {
    auto holding = make_holding("p" + std::to_string(number), "n1", {});
    holding->reservation.containers.clear();
    holding->host = {.cpu_milli = 10, .memory_bytes = number};
    return holding;
  };
  ASSERT_TRUE(world.reserve("share", "n1").has_value());
  for (int i = 0; i < kPods; ++i) ASSERT_TRUE(world.ledger.hold(pod(i)));
  EXPECT_EQ(world.node("n1")->holdings.size(), 1U);
  EXPECT_EQ(world.node("n1")->pod_count, kPods + 1);
  EXPECT_EQ(world.node("n1")->host_used.cpu_milli, 10 * kPods);
  EXPECT_EQ(world.node("n1")->host_used.memory_bytes, kPods * (kPods - 1) / 2);
  for (int i = 100; i < kPods; ++i) world.ledger.end_pod("p" + std::to_string(i));
  EXPECT_EQ(world.node("n1")->holdings.size(), 101U);
  EXPECT_EQ(world.node("n1")->holdings.front()->uid, "share");
  EXPECT_EQ(world.node("n1")->pod_count, 101);
  EXPECT_EQ(world.node("n1")->host_used.cpu_milli, 1'000);
  EXPECT_EQ(world.node("n1")->host_used.memory_bytes, 4'950);
}

}  // namespace
}  // namespace snug::nodes_test
