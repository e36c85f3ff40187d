// When the plug-in of the container `probe` is registered, and when the probe is ended.
#include "snug/agent_service/probe_steering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"

namespace snug::probe_steering_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Notes the calls.
class FakeProbe final : public agent_service::ProbePort {
 public:
  base::Result<void> register_plugin() override {
    calls.emplace_back("register");
    if (error) return std::unexpected(*error);
    return {};
  }
  void withdraw_plugin() override { calls.emplace_back("withdraw"); }
  void restart_probe() override { calls.emplace_back("restart"); }
  std::vector<std::string> take() { return std::exchange(calls, {}); }

  std::vector<std::string> calls;
  std::optional<base::Error> error;
};

class ProbeSteeringTest : public ::testing::Test {
 protected:
  std::vector<std::string> calls_of_tick() {
    steering.tick();
    return probe.take();
  }
  /// The pod of the agent, whose probe the runtime refuses or not.
  void show(bool refused) {
    agent::PodContainerView container{.name = "probe"};
    if (refused) {
      container.waiting_reason = "CreateContainerError";
      container.waiting_message = "required plugin \"snug-probe\" not present";
    }
    pods.pod_changed({.name_space = "snug-node",
                      .name = "agent",
                      .uid = "u",
                      .runtime_uid = "u",
                      .containers = {container}});
  }
  void request() { enforcement.container_requested(kSandbox, kProbe); }

  const agent::SandboxView kSandbox{
      .id = "s", .name = "agent", .uid = "u", .name_space = "snug-node"};
  const agent::ContainerView kProbe{.id = "c", .sandbox_id = "s", .name = "probe"};

  FakeLog log;
  NotingAgentMetrics metrics;
  FakeProbe probe;
  agent_service::PodBook pods;
  agent_service::EnforcementKeeper enforcement{{"snug-node", "agent", "u"}};
  agent_service::ProbeSteering steering{{enforcement, pods, probe, metrics, log}};
};

TEST_F(ProbeSteeringTest, ThePluginIsRegisteredOnceWhenTheRuntimeHasRefusedTheProbe) {
  EXPECT_THAT(calls_of_tick(), ElementsAre("withdraw", "restart"));
  enforcement.runtime_connected({.cdi_injection = true, .validation = true});
  EXPECT_THAT(calls_of_tick(), ElementsAre("withdraw", "restart"));
  show(false);
  steering.tick();
  probe.take();
  request();
  show(true);
  EXPECT_THAT(calls_of_tick(), ElementsAre("register"));
  EXPECT_THAT(calls_of_tick(), IsEmpty());
  EXPECT_EQ(metrics.take().back(), "closed");
  EXPECT_THAT(log.take().back(), HasSubstr("the node fails closed: "));
}

TEST_F(ProbeSteeringTest, EachConnectionIsProvedAnew) {
  enforcement.runtime_connected({.cdi_injection = true, .validation = true});
  steering.tick();
  show(false);
  steering.tick();
  probe.take();
  request();
  show(true);
  steering.tick();
  enforcement.runtime_disconnected();
  probe.take();
  EXPECT_THAT(calls_of_tick(), ElementsAre("withdraw", "restart"));
  enforcement.runtime_connected({.cdi_injection = true, .validation = true});
  EXPECT_THAT(calls_of_tick(), ElementsAre("withdraw", "restart"));
}

TEST_F(ProbeSteeringTest, ARegistrationThatFailsIsTriedAgain) {
  enforcement.runtime_connected({});
  probe.error = base::Error{base::ErrorCode::kUnavailable, "no socket"};
  EXPECT_THAT(calls_of_tick(), ElementsAre("register"));
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("the node does not fail closed"), "no socket"));
  probe.error.reset();
  EXPECT_THAT(calls_of_tick(), ElementsAre("register"));
  EXPECT_THAT(calls_of_tick(), IsEmpty());
}

TEST(ProbeSteeringWithoutPodTest, AnAgentThatRunsInNoPodProvesNothing) {
  FakeLog log;
  NotingAgentMetrics metrics;
  FakeProbe probe;
  const agent_service::PodBook pods;
  agent_service::EnforcementKeeper enforcement{{}};
  agent_service::ProbeSteering steering({enforcement, pods, probe, metrics, log});
  enforcement.runtime_connected({.cdi_injection = true, .validation = true});
  steering.tick();
  EXPECT_THAT(probe.take(), IsEmpty());
}

}  // namespace
}  // namespace snug::probe_steering_test
