// Candidates by slot and by name, and what a memo remembers of either, on random clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/plan/plan.hpp"
#include "support/owned_incoming_pod.hpp"
#include "support/random.hpp"

namespace snug::slots_test {
namespace {

struct World {
  model::Snapshot snapshot;
  std::vector<std::string> names;  // by slot
};

model::NodeStatePtr draw_state(Random& random, const std::string& name) {
  model::NodeInventory node =
      make_node(name + ": A 40960 x" + std::to_string(random.from_to(1, 4)));
  node.host = {
      .resources = {random.draw(64'000), random.draw(1 << 30)}, .pod_slots = 110, .known = true};
  for (model::GpuInfo& gpu : node.gpus) gpu.model_id = 1;
  std::vector<model::HoldingPtr> holdings;
  for (std::int64_t i = random.draw(4); i > 0; --i) {
    holdings.push_back(make_holding(
        name + std::to_string(i), name,
        {make_share(static_cast<int>(random.draw(4)), random.draw(20'000), random.draw(500))}));
  }
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)),
                               std::move(holdings));
}

/// Names in another order than slots; each state has a version.
World draw_world(Random& random) {
  World world;
  auto names = std::make_shared<model::NameIndex>();
  auto chunk = std::make_shared<model::NodeTable::Chunk>();
  const std::int64_t nodes = random.from_to(1, 12);
  for (std::int64_t slot = 0; slot < nodes; ++slot) {
    std::string name = "n" + std::to_string(slot * 7 % 13);
    chunk->states[static_cast<std::size_t>(slot)] = draw_state(random, name);
    chunk->versions[static_cast<std::size_t>(slot)] = static_cast<std::uint64_t>(slot) + 1;
    names->emplace(name, base::NodeIndex{static_cast<std::uint32_t>(slot)});
    world.names.push_back(std::move(name));
  }
  world.snapshot.nodes = model::NodeTable({std::move(chunk)}, static_cast<std::size_t>(nodes));
  world.snapshot.names = std::move(names);
  for (std::int64_t slot = 0; slot < nodes; ++slot) {
    if (!random.one_in(4)) continue;
    world.snapshot.intents[static_cast<std::uint32_t>(slot)].push_back(
        make_holding("intent" + std::to_string(slot), world.names[static_cast<std::size_t>(slot)],
                     {make_share(0, random.draw(20'000), random.draw(500))}));
  }
  return world;
}

void expect_same(const plan::Plan& a, const plan::Plan& b) {
  EXPECT_EQ(a.winner, b.winner);
  ASSERT_EQ(a.verdicts.size(), b.verdicts.size());
  for (std::size_t i = 0; i < a.verdicts.size(); ++i) {
    EXPECT_EQ(a.verdicts[i].reason, b.verdicts[i].reason) << i;
    if (a.verdicts[i].reason == model::ReasonCode::kNone) {
      EXPECT_EQ(a.verdicts[i].score_class, b.verdicts[i].score_class) << i;
    }
  }
  ASSERT_EQ(a.placement.allocations.size(), b.placement.allocations.size());
  for (std::size_t i = 0; i < a.placement.allocations.size(); ++i) {
    EXPECT_EQ(a.placement.allocations[i].gpu, b.placement.allocations[i].gpu);
    EXPECT_EQ(a.placement.allocations[i].milli, b.placement.allocations[i].milli);
  }
}

model::GpuRequest draw_request(Random& random) {
  const std::int64_t kind = random.draw(5);
  if (kind == 0) return {};
  if (kind == 1) return make_whole(static_cast<int>(random.from_to(1, 4)));
  if (kind == 2) return make_memory(random.from_to(1, 40'960));
  return make_fraction(static_cast<int>(random.from_to(1, 999)));
}

TEST(PlanBySlotTest, IsThePlanByName) {
  int winners = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const World world = draw_world(random);
    const OwnedIncomingPod claim(
        draw_request(random),
        make_profile(random.pick<std::string>({"best-fit", "spread", "fgd"})));
    std::vector<std::string_view> names;
    std::vector<base::NodeIndex> slots;
    for (const std::string& name : world.names) {
      if (!random.one_in(4)) names.push_back(name);
    }
    std::ranges::sort(names);
    for (const std::string_view name : names) slots.push_back(*world.snapshot.names->find(name));
    plan::VerdictCache by_name;
    plan::VerdictCache by_slot;
    const plan::Plan plain =
        plan::plan({.snapshot = world.snapshot, .incoming = claim.view()}, names);
    winners += plain.winner.has_value() ? 1 : 0;
    expect_same(plain, plan::plan({.snapshot = world.snapshot, .incoming = claim.view()}, slots));
    for (int again = 0; again < 2; ++again) {
      expect_same(plain, plan::plan({world.snapshot, claim.view(), &by_name}, names));
      expect_same(plain, plan::plan({world.snapshot, claim.view(), &by_slot}, slots));
    }
  }
  EXPECT_GT(winners, 300);
}

TEST(PlanBySlotTest, APodThatAsksForNoGpuGoesWhereverItMayAndTakesNone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world = draw_world(random);
    world.snapshot.intents.clear();
    std::ranges::sort(world.names);
    std::vector<base::NodeIndex> slots;
    for (const std::string& name : world.names) slots.push_back(*world.snapshot.names->find(name));
    const OwnedIncomingPod claim(model::GpuRequest{}, score::Profile{});
    const plan::Plan best =
        plan::plan({.snapshot = world.snapshot, .incoming = claim.view()}, slots);
    for (const plan::Verdict& verdict : best.verdicts)
      EXPECT_EQ(verdict.reason, model::ReasonCode::kNone);
    ASSERT_TRUE(best.winner.has_value());
    EXPECT_TRUE(best.placement.allocations.empty());
    for (const std::string& name : world.names) EXPECT_LE(world.names[*best.winner], name);
  }
}

/// Of two nodes that are alike but for their models, where the first is scarce.
TEST(PlanMemoTest, WhatWasLearnedSinceDecidesThoughTheNodesAreRemembered) {
  World world;
  auto chunk = std::make_shared<model::NodeTable::Chunk>();
  auto names = std::make_shared<model::NameIndex>();
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    model::NodeInventory node = make_node("n" + std::to_string(slot) + ": A 1000");
    node.gpus.front().model_id = static_cast<std::uint8_t>(slot + 1);
    names->emplace(node.name, base::NodeIndex{slot});
    chunk->states[slot] =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)), {});
    chunk->versions[slot] = slot + 1;
  }
  world.snapshot.nodes = model::NodeTable({std::move(chunk)}, 2);
  world.snapshot.names = std::move(names);
  const OwnedIncomingPod claim(make_fraction(500), make_profile("model-scarcity"));
  const std::vector<std::string_view> candidates = {"n0", "n1"};
  plan::VerdictCache cache;
  const auto winner_with = [&](std::uint64_t version, std::size_t scarce) {
    auto demand = std::make_shared<model::Demand>();
    demand->version = version;
    demand->scarcity[scarce] = model::kFixedPointOne;
    world.snapshot.demand = std::move(demand);
    return plan::plan({world.snapshot, claim.view(), &cache}, candidates).winner;
  };
  EXPECT_EQ(winner_with(1, 1), 1U);
  EXPECT_EQ(winner_with(1, 2), 1U) << "the same version says the same";
  EXPECT_EQ(winner_with(2, 2), 0U);
  EXPECT_EQ(winner_with(3, 1), 1U);
}

}  // namespace
}  // namespace snug::slots_test
