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
  /// While the watch works.
  std::vector<std::string> changes() {
    heartbeats.stream_alive();
    return changes_in_outage();
  }
  std::vector<std::string> changes_in_outage() {
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

TEST_F(AgentHeartbeatsTest, NoAgentEndsWhileTheWatchIsLostNorForThatAfterwards) {
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}, {"n3", "t0"}});
  EXPECT_THAT(changes(), SizeIs(3));
  heartbeats.stream_lost();
  for (int i = 0; i < 3; ++i) {
    clock.advance(kLost);
    heartbeats.stream_lost();
    EXPECT_THAT(changes_in_outage(), IsEmpty());
  }
  EXPECT_TRUE(heartbeats.is_alive("n1"));
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t1"}});
  EXPECT_THAT(changes(), ElementsAre("n3")) << "its Lease was deleted meanwhile";
  clock.advance(kLost - std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), IsEmpty());
  heartbeats.heartbeat_changed({"n2", "t2"});
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), ElementsAre("n1"));
  EXPECT_TRUE(heartbeats.is_alive("n2"));
}

TEST_F(AgentHeartbeatsTest, AWatchThatContinuesAfterAnOutageGivesEachAgentItsTimeToo) {
  heartbeats.heartbeats_listed({{"n1", "t0"}});
  EXPECT_THAT(changes(), ElementsAre("n1"));
  clock.advance(kRenewal);
  heartbeats.stream_alive();
  heartbeats.stream_lost();
  clock.advance(kLost);
  EXPECT_THAT(changes(), IsEmpty());
  clock.advance(kLost - std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), IsEmpty());
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), ElementsAre("n1"));
}

TEST_F(AgentHeartbeatsTest, AWatchThatHangsKillsNobodyBeforeItCountsAsLost) {
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}});
  EXPECT_THAT(changes(), SizeIs(2));
  clock.advance(kRenewal - std::chrono::milliseconds(1));
  heartbeats.stream_alive();  // the last sign of life
  clock.advance(kLost);
  EXPECT_THAT(changes_in_outage(), IsEmpty());
  heartbeats.stream_lost();
  EXPECT_THAT(changes(), IsEmpty()) << "it is back, but the renewals are not yet reported";
  heartbeats.heartbeat_changed({"n1", "t1"});
  clock.advance(kLost - std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), IsEmpty());
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_THAT(changes(), ElementsAre("n1", "n2"));
}

TEST_F(AgentHeartbeatsTest, WatchesThatEndAgainAndAgainKeepNoDeadAgentAlive) {
  heartbeats.heartbeats_listed({{"n1", "t0"}});
  EXPECT_THAT(changes(), ElementsAre("n1"));
  for (auto waited = kRenewal; waited < kLost; waited += kRenewal) {
    clock.advance(kRenewal - std::chrono::milliseconds(1));
    heartbeats.stream_alive();  // the API server ends the watch
    heartbeats.stream_lost();
    clock.advance(std::chrono::milliseconds(1));
    EXPECT_THAT(changes(), IsEmpty());
  }
  clock.advance(kRenewal);
  EXPECT_THAT(changes(), ElementsAre("n1"));
}

TEST_F(AgentHeartbeatsTest, ManyAgentsEndEachInItsTimeAndMoreAreIgnored) {
  for (std::int64_t i = 0; i < limits.max_nodes; ++i) {
    heartbeats.heartbeat_changed({"n" + std::to_string(i), "t0"});
  }
  EXPECT_FALSE(heartbeats.ignores_agents());
  heartbeats.heartbeat_changed({"more", "t0"});
  EXPECT_FALSE(heartbeats.is_alive("more"));
  EXPECT_TRUE(heartbeats.ignores_agents());
  EXPECT_THAT(changes(), SizeIs(static_cast<std::size_t>(limits.max_nodes)));
  clock.advance(kLost / 2);
  for (std::int64_t i = 0; i < limits.max_nodes; i += 2) {
    heartbeats.heartbeat_changed({"n" + std::to_string(i), "t1"});
  }
  EXPECT_TRUE(heartbeats.ignores_agents());
  clock.advance(kLost / 2);
  EXPECT_THAT(changes(), SizeIs(static_cast<std::size_t>(limits.max_nodes / 2)));
  EXPECT_TRUE(heartbeats.is_alive("n0"));
  EXPECT_FALSE(heartbeats.is_alive("n1"));
  EXPECT_FALSE(heartbeats.ignores_agents());
  heartbeats.heartbeat_changed({"more", "t1"});
  EXPECT_TRUE(heartbeats.is_alive("more")) << "in place of a dead one";
  EXPECT_FALSE(heartbeats.ignores_agents());
}

class FewAgentsTest : public AgentHeartbeatsTest {
 protected:
  static base::Limits few_limits() {
    base::Limits few_limits;
    few_limits.max_nodes = 3;
    return few_limits;
  }
  /// n1, n2 and n3 are dead, in this order.
  void let_all_die() {
    for (const char* node : {"n1", "n2", "n3"}) {
      few.heartbeat_changed({node, "t0"});
      clock.advance(std::chrono::milliseconds(1));
    }
    clock.advance(kLost);
    few.stream_alive();
    EXPECT_THAT(few.take_changes(), SizeIs(3));
  }

  service::AgentHeartbeats few{clock, few_limits()};
};

TEST_F(FewAgentsTest, ANewAgentTakesThePlaceOfTheOneThatIsDeadTheLongest) {
  let_all_die();
  few.heartbeat_changed({"n1", "t1"});
  few.heartbeat_changed({"n4", "t0"});
  EXPECT_TRUE(few.is_alive("n4"));
  EXPECT_THAT(few.take_changes(), ::testing::UnorderedElementsAre("n1", "n4"));
  few.heartbeat_changed({"n3", "t0"});
  EXPECT_FALSE(few.is_alive("n3")) << "its old Lease is still known";
  few.heartbeat_changed({"n2", "t0"});
  EXPECT_TRUE(few.is_alive("n2")) << "it was forgotten";
}

TEST_F(FewAgentsTest, AListRevivesNoDeadAgentThatWasKnownBefore) {
  let_all_die();
  few.heartbeats_listed({{"n4", "t0"}, {"n1", "t0"}, {"n2", "t0"}, {"n3", "t0"}});
  EXPECT_TRUE(few.is_alive("n4"));
  for (const char* node : {"n1", "n2", "n3"}) EXPECT_FALSE(few.is_alive(node)) << node;
  EXPECT_FALSE(few.ignores_agents());
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
  void tick() {
    heartbeats.stream_alive();
    watcher.tick();
  }
  /// As list(), with the watcher.
  void list_watched(std::vector<model::NodeFacts> nodes) {
    watcher.nodes_listed(std::move(nodes));
    watcher.pod_list_started();
    watcher.pods_listed({});
  }
  /// Why filter refuses the node; empty: the pod fits.
  std::string refusal_of(const model::PodFacts& pod, const std::string& name) {
    const nlohmann::json reply = filter(pod, {name});
    if (reply.at("NodeNames") == nlohmann::json{name}) return "";
    return reply.at("FailedAndUnresolvableNodes").value(name, "resolvable");
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
  tick();
  EXPECT_TRUE(is_enforced("n1"));
  EXPECT_LT(freed, ledger.snapshot()->freed_generation) << "waiting pods are woken";
  const base::Generation before = generation();
  for (int i = 1; i < 10; ++i) {
    clock.advance(kRenewal);
    heartbeats.heartbeat_changed({"n1", "t" + std::to_string(i)});
    tick();
  }
  EXPECT_EQ(generation(), before);
  watcher.node_changed(node("n1", "fail-closed"));
  EXPECT_EQ(generation(), before) << "a new read of the same node keeps the state";
  clock.advance(kLost);
  tick();
  EXPECT_FALSE(is_enforced("n1"));
  EXPECT_TRUE(is_enforced("n2"));
  watcher.nodes_listed({node("n1", "fail-closed"), node("n2", "fail-closed"), node("n3", "open")});
  EXPECT_FALSE(is_enforced("n1"));
  EXPECT_FALSE(is_enforced("n2")) << "now it has an agent, whose heartbeat is lost";
  EXPECT_FALSE(is_enforced("n3"));
  heartbeats.heartbeat_changed({"n2", "t1"});
  tick();
  EXPECT_TRUE(is_enforced("n2"));
}

TEST_F(AgentNodeTest, AgentsThatAreIgnoredAreLoggedOnce) {
  base::Limits one_node = limits;
  one_node.max_nodes = 1;
  service::AgentHeartbeats few{clock, one_node};
  FakeLog lines;
  service::Reconciler limited(
      {ledger, pending, demand, readiness, api, metrics, lines, clock, nullptr, &few}, one_node);
  few.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}});
  limited.tick();
  limited.tick();
  few.heartbeat_changed({"n2", "t1"});
  limited.tick();
  EXPECT_THAT(lines.lines(),
              ElementsAre("agents of nodes are ignored, so nodes that fail closed take "
                          "no GPU pods: more than maxNodes (1) agents are alive"));
  few.heartbeat_gone("n1");
  few.heartbeat_changed({"n2", "t2"});
  clock.advance(kLost);
  limited.tick();
  EXPECT_EQ(lines.lines().back(), "no agents of nodes are ignored any more");
}

TEST_F(AgentNodeTest, WithoutAStreamOfHeartbeatsEveryAgentLives) {
  start();
  list({node("n1", "fail-closed"), node("n2", "open")});
  EXPECT_TRUE(is_enforced("n1"));
  EXPECT_FALSE(is_enforced("n2"));
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_EQ(refusal_of(arrive("a", {{"gpu-fraction", "0.25"}}), "n1"), "");
}

TEST_F(AgentNodeTest, ANodeThatFailsClosedTakesReservationsOnlyWhileItsAgentLives) {
  const std::string away = model::message(model::ReasonCode::kAgentAway);
  const model::StringMap share{{"gpu-fraction", "0.25"}};
  start();
  heartbeats.heartbeats_listed({{"n1", "t0"}, {"n2", "t0"}});
  list_watched({node("n1", "fail-closed"), node("n2", "open")});
  tick();
  ASSERT_EQ(bind(arrive("earlier", share), "n1"), "");
  const model::PodFacts filtered = arrive("filtered", share);
  EXPECT_EQ(refusal_of(filtered, "n1"), "");

  clock.advance(kLost);
  tick();
  EXPECT_THAT(bind(filtered, "n1"), ::testing::HasSubstr(away)) << "its agent died after filter";
  EXPECT_THAT(api.bindings, SizeIs(1));
  EXPECT_EQ(used("n1", 0), 250) << "the earlier pod stays, the other reserved nothing";
  EXPECT_EQ(refusal_of(filtered, "n1"), away);
  EXPECT_EQ(refusal_of(filtered, "n2"), "") << "its runtime starts the pods";
  EXPECT_EQ(refusal_of(arrive("plain", {}), "n1"), "") << "it asks for no GPU";

  const model::PodFacts waiting = arrive("waiting", {{"gpu-fraction", "0.75"}});
  EXPECT_EQ(refusal_of(waiting, "n1"), away);
  const std::size_t touches = api.touches.size();
  heartbeats.heartbeat_changed({"n1", "t1"});
  tick();
  EXPECT_THAT(api.touches, SizeIs(touches + 1)) << "the waiting pod is woken";
  EXPECT_EQ(refusal_of(waiting, "n1"), "");
  EXPECT_EQ(bind(waiting, "n1"), "");
}

TEST_F(AgentNodeTest, NoPodIsEvictedForANodeWhoseAgentIsAway) {
  start();
  heartbeats.heartbeats_listed({{"n1", "t0"}});
  list_watched({node("n1", "fail-closed")});
  const model::PodFacts holder = arrive("holder", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(holder, "n1"), "");
  watcher.pod_changed(bound(holder, api.bindings.back()));
  nlohmann::json pod = pod_json(arrive("first", {{"gpu-fraction", "1"}}));
  pod["spec"]["priority"] = 5;
  const auto nodes_with_victims = [&] {
    std::string body = nlohmann::json{{"Pod", pod},
                                      {"NodeNameToVictims", nullptr},
                                      {"NodeNameToMetaVictims",
                                       {{"n1", {{"Pods", nullptr}, {"NumPDBViolations", 0}}}}}}
                           .dump();
    return nlohmann::json::parse(service->preempt(body).body).at("NodeNameToMetaVictims").size();
  };
  EXPECT_EQ(nodes_with_victims(), 1U);
  clock.advance(kLost);
  tick();
  EXPECT_EQ(nodes_with_victims(), 0U);
}

TEST_F(AgentNodeTest, ASnugThatHasJustStartedAwaitsTheHeartbeats) {
  start();
  list_watched({node("n1", "fail-closed")});
  EXPECT_FALSE(readiness.is_ready());
  EXPECT_FALSE(readiness.is_warm_standby());
  EXPECT_EQ(readiness.why_not(),
            "the first list of the agents' heartbeats has not been received yet");
  tick();
  EXPECT_FALSE(readiness.is_ready());
  heartbeats.heartbeats_listed({{"n1", "t0"}});
  EXPECT_FALSE(readiness.is_ready()) << "the ledger does not show them yet";
  tick();
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_EQ(readiness.why_not(), "");
  EXPECT_EQ(refusal_of(arrive("a", {{"gpu-fraction", "0.25"}}), "n1"), "");
}

TEST_F(AgentNodeTest, HeartbeatsAreAwaitedForANodeThatIsTheKubeletsToo) {
  start();
  model::NodeFacts whole = node("n1", "fail-closed");
  whole.labels["snug.dev/pool"] = "whole";
  list_watched({whole});
  EXPECT_FALSE(readiness.is_ready());
}

TEST_F(AgentNodeTest, AListWithoutTheAgentEndsTheWait) {
  start();
  list_watched({node("n1", "fail-closed")});
  heartbeats.heartbeats_listed({});
  tick();
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_EQ(refusal_of(arrive("a", {{"gpu-fraction", "0.25"}}), "n1"),
            model::message(model::ReasonCode::kAgentAway));
}

TEST_F(AgentNodeTest, HeartbeatsThatCannotBeListedAreAwaitedOnceAndNotForEver) {
  start();
  list_watched({node("n1", "fail-closed")});
  clock.advance(kLost - std::chrono::milliseconds(1));
  EXPECT_FALSE(readiness.is_ready());
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(readiness.is_ready());
  list_watched({node("n1", "fail-closed")});
  EXPECT_TRUE(readiness.is_ready());
  EXPECT_EQ(refusal_of(arrive("a", {{"gpu-fraction", "0.25"}}), "n1"),
            model::message(model::ReasonCode::kAgentAway));
}

TEST_F(AgentNodeTest, AClusterWithoutSuchNodesAwaitsNoHeartbeats) {
  start();
  list_watched({node("n1", "open"), node("n2")});
  EXPECT_TRUE(readiness.is_ready()) << "the right to list them may be missing";
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
