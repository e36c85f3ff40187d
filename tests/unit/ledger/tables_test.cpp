// MIG tables that nodes share: one of each, under one number.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ledger_fixture.hpp"
#include "snug/base/limits.hpp"
#include "support/mig_nodes.hpp"

namespace snug::tables_test {
namespace {

/// A table that no other pointer points to.
model::NodeInventory with_table(std::string_view text, const model::MigTable& table) {
  model::NodeInventory node = make_node(text);
  for (model::GpuInfo& gpu : node.gpus) {
    if (gpu.mig_enabled) set_table(gpu, std::make_shared<const model::MigTable>(table));
  }
  return node;
}

model::MigTable table_of(std::string_view card) { return *card_named(card).table; }

model::MigTable of_memory(std::int64_t mebibytes) {
  return *mig::build_mig_table(
      {{.name = "1g.5gb", .size = 1, .memory{mebibytes}, .starts = {0, 1}}});
}

TEST(LedgerTablesTest, EqualTablesHaveOneNumberAndArePointedToOnce) {
  LedgerFixture world({}, {"none: A 40960 x2"});
  world.ledger.put_node(with_table("n1: A 40960 mig x2", table_of("A100-40GB")));
  world.ledger.put_node(with_table("n2: B 40960 mig, B 40960", table_of("A100-40GB")));
  world.ledger.put_node(with_table("n3: A 24576 mig", table_of("A30")));
  const model::GpuInfo& first = *world.node("n1")->gpus[0].info;
  EXPECT_EQ(world.node("none")->gpus[0].info->mig_table_id, 0);
  EXPECT_EQ(world.node("n2")->gpus[1].info->mig_table_id, 0);
  EXPECT_NE(first.mig_table_id, 0);
  for (const model::GpuInfo* same :
       {world.node("n1")->gpus[1].info, world.node("n2")->gpus[0].info}) {
    EXPECT_EQ(same->mig_table_id, first.mig_table_id);
    EXPECT_EQ(same->mig_table.pointer(), first.mig_table.pointer());
  }
  const model::GpuInfo& other = *world.node("n3")->gpus[0].info;
  EXPECT_NE(other.mig_table_id, first.mig_table_id);
  const auto tables = world.ledger.snapshot()->mig_tables;
  ASSERT_NE(tables, nullptr);
  EXPECT_FALSE(static_cast<bool>(tables->at(0)));
  EXPECT_EQ(tables->at(first.mig_table_id), first.mig_table);
  EXPECT_EQ(tables->at(other.mig_table_id), other.mig_table);
}

TEST(LedgerTablesTest, ATablePublishedAgainIsNoChange) {
  LedgerFixture world({}, {});
  world.ledger.put_node(with_table("n1: A 40960 mig", of_memory(4864)));
  const std::uint64_t generation = world.generation();
  world.ledger.put_node(with_table("n1: A 40960 mig", of_memory(4864)));
  EXPECT_EQ(world.generation(), generation);
  world.ledger.put_node(with_table("n1: A 40960 mig", of_memory(4865)));
  EXPECT_NE(world.generation(), generation);
}

TEST(LedgerTablesTest, ANumberStaysWhileNodesComeAndGo) {
  LedgerFixture world({}, {});
  world.ledger.put_node(with_table("n1: A 40960 mig", of_memory(1)));
  world.ledger.put_node(with_table("n2: A 40960 mig", of_memory(2)));
  const std::uint8_t second = world.node("n2")->gpus[0].info->mig_table_id;
  world.ledger.remove_node("n1");
  world.ledger.remove_node("n2");
  world.ledger.put_node(with_table("n3: A 40960 mig", of_memory(2)));
  EXPECT_EQ(world.node("n3")->gpus[0].info->mig_table_id, second);
}

TEST(LedgerTablesTest, TooManyTablesAreNotNumberedAndServe) {
  LedgerFixture world({}, {});
  const int many = static_cast<int>(base::kMaxMigTables) + 3;
  for (int i = 1; i <= many; ++i) {
    const std::string name = "n" + std::to_string(i);
    world.ledger.put_node(with_table(name + ": A 40960 mig | dynamic", of_memory(i)));
  }
  EXPECT_LE(world.ledger.snapshot()->mig_tables->size(), base::kMaxMigTables);
  const std::string last = "n" + std::to_string(many);
  EXPECT_EQ(world.node(last)->gpus[0].info->mig_table_id, 0);
  EXPECT_TRUE(world.reserve("p", last, make_slice_request("1g.5gb")).has_value());
  EXPECT_EQ(world.node(last)->gpus[0].used_memory, base::MebiBytes{many});
}

}  // namespace
}  // namespace snug::tables_test
