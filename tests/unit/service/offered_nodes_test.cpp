#include "snug/service/offered_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "snug/plan/plan.hpp"
#include "support/node_states.hpp"

namespace snug::offered_nodes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A snapshot with a node of each name, in this order; an empty name is an empty slot.
model::Snapshot snapshot_of(const std::vector<std::string>& names) {
  std::vector<model::NodeStatePtr> nodes;
  auto index = std::make_shared<model::NameIndex>();
  for (const std::string& name : names) {
    if (!name.empty())
      index->emplace(name, base::NodeIndex{static_cast<std::uint32_t>(nodes.size())});
    nodes.push_back(name.empty() ? nullptr : make_state(name + ": T4 16384"));
  }
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(nodes);
  snapshot.names = std::move(index);
  return snapshot;
}

TEST(OfferedNodesTest, AllNodesAreNull) {
  const model::Snapshot snapshot = snapshot_of({"a", "", "b"});
  const std::vector<std::uint32_t> all = {2, 0, plan::kNoSlot};
  EXPECT_EQ(service::OfferedNodes::make(snapshot, all), nullptr);
  const std::vector<std::uint32_t> twice = {2, 2};
  EXPECT_NE(service::OfferedNodes::make(snapshot, twice), nullptr);
}

TEST(OfferedNodesTest, NodesAreFoundByNameInALaterSnapshot) {
  const model::Snapshot before = snapshot_of({"a", "b", "c"});
  const std::vector<std::uint32_t> slots = {2, plan::kNoSlot, 0};
  const service::OfferedNodesPtr offered = service::OfferedNodes::make(before, slots);
  EXPECT_THAT(offered->slots_in(before), ElementsAre(0, 2));
  EXPECT_THAT(offered->slots_in(snapshot_of({"d", "b", "c", "a"})), ElementsAre(2, 3));
  EXPECT_THAT(offered->slots_in(snapshot_of({"b", "", "d"})), IsEmpty());
}

TEST(OfferedNodesTest, EqualOffersHaveEqualHashes) {
  const model::Snapshot snapshot = snapshot_of({"a", "b", "c"});
  const std::vector<std::uint32_t> first = {0, 2};
  const std::vector<std::uint32_t> same = {2, 0};
  const std::vector<std::uint32_t> other = {1};
  const auto offered = service::OfferedNodes::make(snapshot, first);
  EXPECT_EQ(*offered, *service::OfferedNodes::make(snapshot, same));
  EXPECT_EQ(offered->hash(), service::OfferedNodes::make(snapshot, same)->hash());
  EXPECT_NE(offered->hash(), service::OfferedNodes::make(snapshot, other)->hash());
}

}  // namespace
}  // namespace snug::offered_nodes_test
