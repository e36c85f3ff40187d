// Heartbeats of agents: when they count as lost, and what that does to a node, its pods and its
// bindings.
#include "snug/service/agent_heartbeats.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "snug/base/agent_limits.hpp"
#include "unit/service/fixture.hpp"

namespace snug::testing::agent_heartbeats_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::milliseconds kLost{base::agent_limits::heartbeat_lost_ms};
constexpr std::chrono::milliseconds kRenewal{base::agent_limits::heartbeat_ms};

class AgentHeartbeatsTest : public ::testing::Test {
 protected:
  std::vector<std::string> changes() {
    std::vector<std::string> changed = heartbeats.take_changes();
    std::ranges::sort(changed);
    return changed;
  }

  base::Limits limits;
  base::ManualClock clock;
  service::AgentHeartbeats heartbeats{clock, limits};
};

TEST_F(AgentHeartbeatsTest, AnAgentLivesWhileItsHeartbeatChanges) {
  EXPECT_FALSE(heartbeats.is_alive("n1"));
  heartbeats.heartbeat_changed({"n1", "t0"});
  EXPECT_TRUE(heartbeats.is_alive("n1")) << "what is seen first counts as renewed";
  EXPECT_THAT(changes(), ElementsAre("n1"));
  for (int i = 1; i < 100; ++i) {
    clock.advance(kRenewal);
    heartbeats.heartbeat_changed({"n1", "t" + std::to_string(i)});
    ASSERT_THAT(changes(), IsEmpty()) << "a renewal changes nothing";
  }
  clock.advance(kLost - std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_TRUE(heartbeats.is_alive("n1"));
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), ElementsAre("n1"));
  EXPECT_FALSE(heartbeats.is_alive("n1"));
}

TEST_F(AgentHeartbeatsTest, ALeaseThatIsOnlyShownAgainIsNotRenewed) {
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}});
  EXPECT_THAT(changes(), ElementsAre("n1", "n2"));
  clock.advance(kLost / 2);
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t1"}});
  clock.advance(kLost / 2);
  EXPECT_THAT(changes(), ElementsAre("n1"));
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t1"}});
  EXPECT_FALSE(heartbeats.is_alive("n1")) << "its Lease is no new one";
  EXPECT_THAT(changes(), IsEmpty());
  heartbeats.heartbeat_changed({"n1", "t1"});
  EXPECT_TRUE(heartbeats.is_alive("n1"));
  EXPECT_THAT(changes(), ElementsAre("n1"));
}

TEST_F(AgentHeartbeatsTest, ADeletedLeaseEndsAtOnce) {
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}});
  (void)changes();
  heartbeats.heartbeat_gone("n1");
  heartbeats.heartbeat_gone("unknown");
  EXPECT_FALSE(heartbeats.is_alive("n1"));
  EXPECT_THAT(changes(), ElementsAre("n1"));
  heartbeats.heartbeats_listed({});
  EXPECT_THAT(changes(), ElementsAre("n2"));
  heartbeats.heartbeat_changed({"n1", "t0"});
  EXPECT_TRUE(heartbeats.is_alive("n1")) << "it is a new Lease";
  heartbeats.heartbeat_changed({"", "t0"});
  EXPECT_THAT(changes(), ElementsAre("n1"));
}

TEST_F(AgentHeartbeatsTest, ManyAgentsEndEachInItsTimeAndMoreAreIgnored) {
  for (std::int64_t i = 0; i <= limits.max_nodes; ++i) {
    heartbeats.heartbeat_changed({"n" + std::to_string(i), "t0"});
  }
  EXPECT_FALSE(heartbeats.is_alive("n" + std::to_string(limits.max_nodes)));
  EXPECT_THAT(changes(), SizeIs(static_cast<std::size_t>(limits.max_nodes)));
  clock.advance(kLost / 2);
  for (std::int64_t i = 0; i < limits.max_nodes; i += 2) {
    heartbeats.heartbeat_changed({"n" + std::to_string(i), "t1"});
  }
  clock.advance(kLost / 2);
  EXPECT_THAT(changes(), SizeIs(static_cast<std::size_t>(limits.max_nodes / 2)));
  EXPECT_TRUE(heartbeats.is_alive("n0"));
  EXPECT_FALSE(heartbeats.is_alive("n1"));
}

class AgentNodeTest : public ServiceTest {
 protected:
  /// n1 has an agent that says that its runtime fails closed, and the label; n2 only the label.
  model::NodeFacts node(const std::string& name, const std::string& enforcement = {}) {
    model::NodeFacts facts = make_node(name, 1, 40960);
    facts.labels["snug.dev/enforced"] = "true";
    if (!enforcement.empty()) {
      nlohmann::json inventory = nlohmann::json::parse(facts.annotations["snug.dev/inventory"]);
      inventory["enforcement"] = enforcement;
      facts.annotations["snug.dev/inventory"] = inventory.dump();
    }
    return facts;
  }
  bool is_enforced(const std::string& name) { return ledger.inventory(name)->is_enforced(); }
  base::Generation generation() { return ledger.snapshot()->generation; }

  service::AgentHeartbeats heartbeats{clock, limits};
  service::Reconciler watcher{
      {ledger, pending, demand, readiness, api, metrics, log, clock, nullptr, &heartbeats}, limits};
};

TEST_F(AgentNodeTest, OnlyATransitionChangesTheNodeAndItFreesRoom) {
  watcher.nodes_listed({node("n1", "fail-closed"), node("n2")});
  EXPECT_FALSE(is_enforced("n1")) << "no heartbeat yet";
  EXPECT_TRUE(is_enforced("n2")) << "without an agent the label counts alone";
  const base::Generation freed = ledger.snapshot()->freed_generation;
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}, {"gone", "t0"}});
  EXPECT_FALSE(is_enforced("n1"));
  watcher.tick();
  EXPECT_TRUE(is_enforced("n1"));
  EXPECT_LT(freed, ledger.snapshot()->freed_generation) << "waiting pods are woken";
  const base::Generation before = generation();
  for (int i = 1; i < 10; ++i) {
    clock.advance(kRenewal);
    heartbeats.heartbeat_changed({"n1", "t" + std::to_string(i)});
    watcher.tick();
  }
  EXPECT_EQ(generation(), before);
  watcher.node_changed(node("n1", "fail-closed"));
  EXPECT_EQ(generation(), before) << "a new read of the same node keeps the state";
  clock.advance(kLost);
  watcher.tick();
  EXPECT_FALSE(is_enforced("n1"));
  EXPECT_TRUE(is_enforced("n2"));
  watcher.nodes_listed({node("n1", "fail-closed"), node("n2", "fail-closed"), node("n3", "open")});
  EXPECT_FALSE(is_enforced("n1"));
  EXPECT_FALSE(is_enforced("n2")) << "now it has an agent, whose heartbeat is lost";
  EXPECT_FALSE(is_enforced("n3"));
  heartbeats.heartbeat_changed({"n2", "t1"});
  watcher.tick();
  EXPECT_TRUE(is_enforced("n2"));
}

TEST_F(AgentNodeTest, WithoutAStreamOfHeartbeatsEveryAgentLives) {
  reconciler.nodes_listed({node("n1", "fail-closed"), node("n2", "open")});
  EXPECT_TRUE(is_enforced("n1"));
  EXPECT_FALSE(is_enforced("n2"));
}

TEST_F(AgentNodeTest, ABindingRequiresTheAgentWhereTheRuntimeFailsClosed) {
  const std::string key = "required-plugins.noderesource.dev/container.main";
  start();
  for (const auto& [name, enforcement, required] :
       {std::tuple{"n1", "fail-closed", true}, {"n2", "open", false}, {"n3", "", false}}) {
    list({node(name, enforcement)});
    const model::PodFacts pod =
        arrive("pod-" + std::string(name), {{"gpu-fraction", "0.25"}, {key, R"(["other"])"}});
    ASSERT_EQ(bind(pod, name), "");
    const model::StringMap& written = api.bindings.back().annotations;
    ASSERT_EQ(written.contains(key), required) << name;
    if (required) {
      EXPECT_EQ(written.at(key), R"(["snug"])") << "not what the pod had";
    }
  }
}

TEST_F(AgentNodeTest, ABindingWithoutGpusRequiresNothing) {
  start();
  list({node("n1", "fail-closed")});
  ASSERT_EQ(bind(arrive("plain", {}), "n1"), "");
  EXPECT_THAT(api.bindings.back().annotations, IsEmpty());
}

}  // namespace
}  // namespace snug::testing::agent_heartbeats_test
