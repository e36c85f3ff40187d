#include "snug/service/offered_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/plan/plan.hpp"
#include "support/node_states.hpp"

namespace snug::offered_nodes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

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
  const std::vector<std::uint32_t> all = {2, 0};
  EXPECT_EQ(service::OfferedNodes::make(snapshot, all), nullptr);
  const std::vector<std::uint32_t> more = {2, 0, plan::kNoSlot};
  EXPECT_EQ(service::OfferedNodes::make(snapshot, more)->unknown_nodes(), 1);
  const std::vector<std::uint32_t> twice = {2, 2};
  EXPECT_NE(service::OfferedNodes::make(snapshot, twice), nullptr);
}

TEST(OfferedNodesTest, AnOfferHoldsUntilANodeIsAddedOrDeleted) {
  model::Snapshot snapshot = snapshot_of({"a", "b", "c"});
  const std::vector<std::uint32_t> slots = {2, plan::kNoSlot, 0};
  const service::OfferedNodesPtr offered = service::OfferedNodes::make(snapshot, slots);
  EXPECT_THAT(offered->slots_in(snapshot), Optional(ElementsAre(0, 2)));
  model::Snapshot changed = snapshot;
  changed.names = snapshot_of({"c", "b", "a"}).names;
  EXPECT_EQ(offered->slots_in(changed), std::nullopt);
  snapshot.names.reset();
  EXPECT_EQ(offered->slots_in(changed), std::nullopt) << "an offer does not keep the names alive";
}

TEST(OfferedNodesTest, ManyNodesAreToldApart) {
  std::vector<std::string> names;
  for (int i = 0; i < 130; ++i) names.push_back("n" + std::to_string(i));
  const model::Snapshot snapshot = snapshot_of(names);
  const std::vector<std::uint32_t> slots = {129, 63, 64, 0, 64};
  EXPECT_THAT(service::OfferedNodes::make(snapshot, slots)->slots_in(snapshot),
              Optional(ElementsAre(0, 63, 64, 129)));
}

TEST(OfferedNodesTest, TheSameOffersAreEqual) {
  const model::Snapshot snapshot = snapshot_of({"a", "b", "c"});
  const std::vector<std::uint32_t> first = {0, 2};
  const std::vector<std::uint32_t> same = {2, 0};
  const std::vector<std::uint32_t> other = {1};
  const auto offered = service::OfferedNodes::make(snapshot, first);
  EXPECT_TRUE(offered->is_same_as(*service::OfferedNodes::make(snapshot, same)));
  EXPECT_EQ(offered->hash(), service::OfferedNodes::make(snapshot, same)->hash());
  EXPECT_FALSE(offered->is_same_as(*service::OfferedNodes::make(snapshot, other)));
  const model::Snapshot later = snapshot_of({"a", "b", "c"});
  EXPECT_FALSE(offered->is_same_as(*service::OfferedNodes::make(later, first)));
}

}  // namespace
}  // namespace snug::offered_nodes_test
