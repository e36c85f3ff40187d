// Events on nodes whose inventory cannot be used: who gets one, and how often.
#include <set>
#include <string>
#include <vector>

#include "unit/service/fixture.hpp"

namespace snug::testing::node_events_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeEventsTest : public ServiceTest {
 protected:
  void wait(std::int64_t ms = 1'000) {
    clock.advance(std::chrono::milliseconds(ms));
    reconciler.tick();
  }
  static model::NodeFacts malformed_node(const std::string& name,
                                         const std::string& inventory = "{") {
    model::NodeFacts node;
    node.name = name;
    node.annotations["snug.dev/inventory"] = inventory;
    return node;
  }
};

TEST_F(NodeEventsTest, AMalformedInventoryIsSaidOnceAndThatItIsMended) {
  const model::NodeFacts good = make_node("n1", 1, 40960);
  const model::NodeFacts bad = malformed_node("n1");
  readiness.stand_by("other_1", "");
  reconciler.node_changed(bad);
  wait();
  EXPECT_THAT(api.notices, IsEmpty()) << "only the leader writes";
  readiness.start_leading();
  for (int i = 0; i < 3; ++i) reconciler.nodes_listed({bad});
  for (int i = 0; i < 3; ++i) {
    reconciler.node_changed(bad);
    wait();
  }
  ASSERT_THAT(api.notices, SizeIs(1));
  EXPECT_EQ(api.notices[0].about, model::ObjectKind::kNode);
  EXPECT_EQ(api.notices[0].name, "n1");
  EXPECT_EQ(api.notices[0].reason, "GpuInventoryUnusable");
  EXPECT_EQ(api.notices[0].type, model::EventType::kWarning);
  EXPECT_THAT(api.notices[0].note, HasSubstr("snug.dev/inventory"));
  for (int i = 0; i < 3; ++i) {
    reconciler.node_changed(good);
    wait();
  }
  ASSERT_THAT(api.notices, SizeIs(2));
  EXPECT_EQ(api.notices[1].reason, "GpuInventoryUsable");
  EXPECT_EQ(api.notices[1].type, model::EventType::kNormal);
  reconciler.node_changed(bad);
  wait();
  EXPECT_THAT(api.notices, SizeIs(2)) << "one of each kind in event_repeat_ms";
  wait(limits.event_repeat_ms);
  EXPECT_THAT(api.notices, SizeIs(3));
  reconciler.node_gone("n1");
  reconciler.node_changed(good);
  wait();
  EXPECT_THAT(api.notices, SizeIs(3)) << "it is another node";
}

TEST_F(NodeEventsTest, AReasonThatKeepsChangingIsSaidOnceInItsTime) {
  for (std::int64_t second = 0; second < 2 * limits.event_repeat_ms / 1'000; ++second) {
    reconciler.node_changed(malformed_node("n1", second % 2 == 0 ? "{" : R"({"version":9})"));
    wait();
  }
  ASSERT_THAT(api.notices, SizeIs(2));
  EXPECT_NE(api.notices[0].note, api.notices[1].note);
}

TEST_F(NodeEventsTest, ANodeThatIsMendedBeforeItsEventGetsNone) {
  api.most_notices = 0;
  reconciler.nodes_listed({malformed_node("n1"), malformed_node("n2")});
  wait();
  reconciler.nodes_listed({make_node("n1", 1, 40960)});
  api.most_notices = 10;
  wait();
  EXPECT_THAT(api.notices, IsEmpty());
}

TEST_F(NodeEventsTest, EachOfManyNodesGetsItsEventThoughTheQueueIsShort) {
  constexpr std::size_t kNodes = 5'000;
  std::vector<model::NodeFacts> nodes;
  nodes.reserve(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) nodes.push_back(malformed_node("n" + std::to_string(i)));
  reconciler.nodes_listed(std::move(nodes));
  for (int second = 0; second < 200; ++second) {
    const std::size_t before = api.notices.size();
    // The queue is full for ten seconds, and later has room for ten events every third second.
    const std::size_t room = second % 3 == 0 ? 10 : 1'024;
    api.most_notices = before + (second < 10 ? 0 : room);
    clock.advance(std::chrono::seconds(1));
    for (int i = 0; i < 20; ++i) reconciler.tick();
    ASSERT_LE(std::ssize(api.notices), static_cast<std::int64_t>(before) + limits.pod_events_per_s);
  }
  std::set<std::string> told;
  for (const model::Notice& notice : api.notices) told.insert(notice.name);
  EXPECT_EQ(told.size(), kNodes);
  EXPECT_EQ(api.notices.size(), kNodes) << "one each";
}

}  // namespace
}  // namespace snug::testing::node_events_test
