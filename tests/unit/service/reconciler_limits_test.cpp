// What the log says of nodes and nominated pods beyond what the ledger may have.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/service/fixture.hpp"

namespace snug::testing::reconciler_limits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// A cluster with more nodes than the ledger may have.
class LeftOutNodesTest : public ServiceTest {
 protected:
  LeftOutNodesTest() {
    small.max_nodes = 2;
    few = std::make_unique<ledger::Ledger>(clock, small);
    other = std::make_unique<service::Reconciler>(
        service::ReconcilerParts{*few, pending, demand, readiness, api, metrics, log_lines, clock},
        small);
  }
  std::vector<std::string> nodes() {
    std::vector<std::string> names;
    const model::SnapshotPtr snapshot = few->snapshot();
    for (std::size_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
      if (snapshot->nodes[slot] != nullptr) names.push_back(snapshot->nodes[slot]->name());
    }
    return names;
  }

  base::Limits small;
  FakeLog log_lines;
  std::unique_ptr<ledger::Ledger> few;
  std::unique_ptr<service::Reconciler> other;
};

TEST_F(LeftOutNodesTest, OneIsTakenInWhenAnotherGoes) {
  other->nodes_listed({make_node("n1", 1, 40960), make_node("n2", 1, 40960),
                       make_node("n3", 1, 40960), make_node("n4", 1, 40960)});
  EXPECT_THAT(nodes(), UnorderedElementsAre("n1", "n2"));
  other->node_gone("n3");
  other->node_gone("n1");
  EXPECT_THAT(nodes(), UnorderedElementsAre("n2", "n4"));
  other->node_changed(make_node("n5", 1, 40960));
  other->node_changed(make_node("n5", 3, 40960));
  other->node_gone("n2");
  ASSERT_THAT(nodes(), UnorderedElementsAre("n4", "n5"));
  const model::SnapshotPtr snapshot = few->snapshot();
  EXPECT_EQ(snapshot->nodes[snapshot->names->find("n5")->value]->gpus.size(), 3U) << "as last seen";
}

TEST_F(LeftOutNodesTest, TheirNumberIsSaidWhenItChangesAndNotAtEachHeartbeat) {
  const std::string why = " nodes are not in the ledger: there are more than maxNodes (2)";
  other->nodes_listed(
      {make_node("n1", 1, 40960), make_node("n2", 1, 40960), make_node("n3", 1, 40960)});
  EXPECT_THAT(log_lines.take(), ElementsAre("1" + why));
  for (int i = 0; i < 3; ++i) other->node_changed(make_node("n3", 1, 40960));
  EXPECT_THAT(log_lines.take(), IsEmpty());
  other->node_changed(make_node("n4", 1, 40960));
  EXPECT_THAT(log_lines.take(), ElementsAre("at least 2" + why));
  other->node_gone("n1");
  EXPECT_THAT(log_lines.take(), ElementsAre("1" + why));
  other->nodes_listed({make_node("n2", 1, 40960)});
  EXPECT_THAT(log_lines.take(), ElementsAre("all nodes are in the ledger again"));
}

using NominationsTest = ServiceTest;

TEST_F(NominationsTest, ThatRoomIsNotKeptForEveryNominatedPodIsSaidOnce) {
  base::Limits small;
  small.max_nominations = 1;
  ledger::Ledger few(clock, small);
  FakeLog log_lines;
  service::Reconciler other({few, pending, demand, readiness, api, metrics, log_lines, clock},
                            small);
  const auto nominated = [](const std::string& name) {
    model::PodFacts pod = make_pod(name, {{"gpu-fraction", "0.5"}});
    pod.nominated_node_name = "n1";
    return pod;
  };
  const std::string why = "for some nominated pods no GPU is kept free: there are more than 1";
  other.pod_changed(nominated("a"));
  EXPECT_THAT(log_lines.take(), IsEmpty());
  for (const char* name : {"b", "c", "b"}) other.pod_changed(nominated(name));
  EXPECT_THAT(log_lines.take(), ElementsAre(why));
  other.pod_list_started();
  other.pods_listed({nominated("b"), nominated("c")});
  EXPECT_THAT(log_lines.take(), IsEmpty());
  other.pod_list_started();
  other.pods_listed({nominated("c")});
  EXPECT_THAT(log_lines.take(), ElementsAre("GPUs are kept free for every nominated pod again"));
  other.pod_list_started();
  other.pod_changed(nominated("b"));  // while the list is under way, which shows one more
  EXPECT_THAT(log_lines.take(), ElementsAre(why));
  other.pods_listed({nominated("c")});
  EXPECT_THAT(log_lines.take(), IsEmpty()) << "b is newer than the list, and there are two";
  other.pod_list_started();
  other.pod_gone(nominated("b"));
  other.pods_listed({nominated("b"), nominated("c")});
  EXPECT_THAT(log_lines.take(), ElementsAre("GPUs are kept free for every nominated pod again"));
}

}  // namespace
}  // namespace snug::testing::reconciler_limits_test
