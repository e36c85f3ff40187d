// The guard between the container runtime and the rules about containers, with fakes around it.
#include "snug/agent_service/container_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/codec/reservation_codec.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::container_guard_test {
namespace {

using agent::testing::Case;
using agent::testing::whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

const std::string kSpecFile = "snug.dev-gpu_u-1_main.json";

/// A pod in the case's namespace whose only container is `main`.
Case pod_named(const std::string& name, const std::string& uid) {
  Case c;
  c.sandbox.name = c.pod->name = name;
  c.sandbox.uid = c.pod->uid = c.pod->runtime_uid = uid;
  c.sandbox.id = c.container.sandbox_id = "s-" + uid;
  c.container.id = "c-" + uid;
  return c;
}

class ContainerGuardTest : public ::testing::Test {
 protected:
  ContainerGuardTest() {
    book.set(std::make_shared<agent_service::NodeKnowledge>(agent_service::NodeKnowledge{
        agent::testing::three_gpus(), agent::testing::driver_files()}));
  }

  void list(std::vector<agent::PodView> shown) {
    pods.pods_listed(std::move(shown));
    pods.stream_alive();
  }
  /// Connects a runtime with all features, and lists the pod of `c`.
  void start() {
    list({*c.pod});
    EXPECT_TRUE(guard.connected({"containerd", "v2.4.2"}));
    metrics.take();
    log.take();
  }
  /// The sandbox has the reservation of the GPU with the index 0.
  void reserve(Case& of) {
    const model::Reservation reservation{
        .uid = of.sandbox.uid,
        .node = "n1",
        .containers = {{"main", "gpu-count=1", std::vector{whole(0, "GPU-a")}}}};
    of.sandbox.annotations = codec::write_reservation(reservation, "main", {});
  }
  auto create() { return guard.create_container(c.sandbox, c.container); }

  base::ManualClock clock;
  FakeLog log;
  FakeHostFiles host;
  NotingAgentMetrics metrics;
  agent_service::PodBook pods;
  agent_service::NodeBook book;
  agent_service::EnforcementKeeper enforcement{{"snug", "snug-agent", "own"}};
  agent_service::RunningContainers running;
  agent_service::SandboxBook sandboxes;
  FakeMemoryLimits memory_limits;
  agent_service::ShareLimiter limiter{{memory_limits, host, log}, {}};
  agent_service::ContainerGuard guard{
      {host, pods, book, enforcement, metrics, log, clock, running, sandboxes, limiter},
      {.node = "n1", .exemptions = agent::default_exemptions()}};
  Case c;
};

TEST_F(ContainerGuardTest, TheSpecificationIsWrittenWhenTheAnswerNamesIt) {
  start();
  reserve(c);
  const auto answer = create();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(answer->cdi_devices, ElementsAre("snug.dev/gpu=u-1_main"));
  EXPECT_THAT(host.specs, ElementsAre(Pair(kSpecFile, HasSubstr("/dev/nvidia1"))));
  EXPECT_THAT(metrics.take(), ElementsAre("created reserved"));
}

TEST_F(ContainerGuardTest, AContainerIsRefusedIfItsSpecificationCannotBeWritten) {
  start();
  reserve(c);
  host.write_error = base::Error{base::ErrorCode::kUnavailable, "no space"};
  const auto answer = create();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "snug: no space");
  EXPECT_THAT(metrics.take(), ElementsAre("created refused"));
  EXPECT_THAT(log.take(), ElementsAre("refused a container: snug: no space"));
}

TEST_F(ContainerGuardTest, EachAnswerIsCountedByItsRole) {
  start();
  EXPECT_THAT(create()->env, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  c.pod->containers[0].kubelet_assigned = true;
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=GPU-a"};
  pods.pod_changed(*c.pod);
  EXPECT_EQ(*create(), agent::Adjustment{});
  c.sandbox.name_space = c.pod->name_space = "gpu-operator";
  c.pod->service_account = "nvidia-dcgm";
  c.pod->containers[0].kubelet_assigned = false;
  pods.pod_changed(*c.pod);
  EXPECT_EQ(*create(), agent::Adjustment{});
  EXPECT_THAT(metrics.take(),
              ElementsAre("created ordinary", "created kubelet_assigned", "created exempt"));
  EXPECT_THAT(host.spec_names(), IsEmpty());
}

TEST_F(ContainerGuardTest, ARefusalIsARetryableErrorOnlyIfItsCauseCanEnd) {
  start();
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
  c.sandbox.uid = "u-unknown";
  EXPECT_EQ(create().error().code, base::ErrorCode::kUnavailable);
  c.sandbox.uid = "u-1";
  c.container.cdi_devices = {"nvidia.com/gpu=all"};
  const auto refused = create();
  EXPECT_EQ(refused.error().code, base::ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().message, StartsWith("snug: container \"main\" of the pod ml/train"));
  EXPECT_THAT(metrics.take(), ElementsAre("created refused", "created refused"));
}

TEST_F(ContainerGuardTest, AnUnreadableReservationGivesNothing) {
  start();
  c.sandbox.annotations = {{"snug.dev/reservation", "{"}, {"snug.dev/visible-devices.main", "x"}};
  EXPECT_THAT(create().error().message, HasSubstr("snug.dev/reservation cannot be read"));
  c.sandbox.annotations = {{"snug.dev/reservation", ""}};
  EXPECT_TRUE(create());
}

TEST_F(ContainerGuardTest, WithoutCdiInjectionContainersAreLeftAlone) {
  list({*c.pod});
  EXPECT_FALSE(guard.connected({"containerd", "v1.7.0"}));
  EXPECT_FALSE(guard.gives_devices());
  EXPECT_THAT(log.take(), ElementsAre("the container runtime is connected",
                                      HasSubstr("cannot add CDI devices for a plug-in")));
  EXPECT_THAT(metrics.take(), ElementsAre("connected"));
  EXPECT_TRUE(enforcement.state().is_settled);
  EXPECT_FALSE(enforcement.state().fails_closed);
  reserve(c);
  c.container.cdi_devices = {"nvidia.com/gpu=all"};
  EXPECT_EQ(*create(), agent::Adjustment{});
  EXPECT_THAT(host.spec_names(), IsEmpty());
  EXPECT_THAT(metrics.take(), IsEmpty());
  // A newer runtime after it is served.
  guard.disconnected();
  EXPECT_TRUE(guard.connected({"containerd", "v2.4.2"}));
  EXPECT_TRUE(guard.gives_devices());
  EXPECT_FALSE(create());
}

TEST_F(ContainerGuardTest, ARuntimeWithoutValidationStillGetsItsContainersServed) {
  list({*c.pod});
  EXPECT_FALSE(guard.connected({"containerd", "1.7.30"}));
  EXPECT_TRUE(enforcement.state().is_settled);
  EXPECT_FALSE(enforcement.state().fails_closed);
  reserve(c);
  EXPECT_NE(*create(), agent::Adjustment{});
}

TEST_F(ContainerGuardTest, WhatPlugInsDoTogetherIsJudgedByTheSameKnowledge) {
  start();
  reserve(c);
  const agent::Adjustment mine = *create();
  metrics.take();
  EXPECT_TRUE(guard.validate_container({c.sandbox, c.container, mine}));
  const auto rejected = guard.validate_container({c.sandbox, c.container, {}});
  ASSERT_FALSE(rejected);
  EXPECT_THAT(metrics.take(), ElementsAre("accepted", "rejected"));
  EXPECT_THAT(log.take(), ElementsAre(StartsWith("rejected a container: snug: container")));
}

TEST_F(ContainerGuardTest, TheSpecificationsOfAPodAreRemovedWithItsSandbox) {
  start();
  host.specs = {{kSpecFile, ""},
                {"snug.dev-gpu_u-1_other.json", ""},
                {"snug.dev-gpu_u-10_main.json", ""},
                {"nvidia.yaml", ""}};
  guard.sandbox_stopped(c.sandbox);
  EXPECT_THAT(host.spec_names(), ElementsAre("nvidia.yaml", "snug.dev-gpu_u-10_main.json"));
  host.remove_error = base::Error{base::ErrorCode::kUnavailable, "read-only"};
  c.sandbox.uid = "u-10";
  guard.sandbox_stopped(c.sandbox);
  EXPECT_THAT(log.take(), ElementsAre("read-only"));
}

TEST_F(ContainerGuardTest, SpecificationsOfPodsThatAreGoneAreRemovedAtSynchronization) {
  start();
  host.specs = {{kSpecFile, ""}, {"snug.dev-gpu_u-0_main.json", ""}, {"nvidia.yaml", ""}};
  host.list_error = base::Error{base::ErrorCode::kUnavailable, "no folder"};
  guard.synchronized({c.sandbox}, {});
  EXPECT_EQ(host.specs.size(), 3U);
  host.list_error.reset();
  guard.synchronized({c.sandbox}, {});
  EXPECT_THAT(host.spec_names(), ElementsAre("nvidia.yaml", kSpecFile));
  guard.synchronized({}, {});
  EXPECT_THAT(host.spec_names(), ElementsAre("nvidia.yaml"));
}

TEST_F(ContainerGuardTest, ItKnowsWhatRuns) {
  const auto running_ids = [this] {
    std::vector<std::string> ids;
    for (const auto& each : running.all()) ids.push_back(each->container.id);
    return ids;
  };
  const Case listed = pod_named("listed", "u-2");
  const Case ended = pod_named("ended", "u-3");
  guard.synchronized({listed.sandbox, ended.sandbox}, {listed.container, ended.container});
  guard.container_created(c.sandbox, c.container);
  EXPECT_THAT(running_ids(), ElementsAre("c-u-2", "c-u-3", "c1"));
  guard.container_ended("c-u-3");
  EXPECT_THAT(running_ids(), ElementsAre("c-u-2", "c1"));
  guard.sandbox_stopped(c.sandbox);
  EXPECT_THAT(running_ids(), ElementsAre("c-u-2"));
  EXPECT_TRUE(guard.start_container(c.sandbox, c.container));
  EXPECT_THAT(running_ids(), ElementsAre("c-u-2", "c1"));
}

TEST_F(ContainerGuardTest, SandboxesWithContainersThatRunAreListedWithTheirReservations) {
  Case holder = pod_named("holder", "u-2");
  reserve(holder);
  Case ended = pod_named("ended", "u-3");
  reserve(ended);
  ended.container.state = agent::ContainerState::kStopped;
  const Case without = pod_named("without", "u-4");
  EXPECT_FALSE(sandboxes.is_complete());
  guard.synchronized({holder.sandbox, ended.sandbox, without.sandbox},
                     {holder.container, ended.container, without.container});
  EXPECT_TRUE(sandboxes.is_complete());
  ASSERT_EQ(sandboxes.held().size(), 1U);
  EXPECT_EQ(sandboxes.held()[0].uid, "u-2");
}

TEST_F(ContainerGuardTest, TheProofOfEnforcementIsFed) {
  const agent::SandboxView own{.id = "s", .name = "snug-agent", .uid = "own", .name_space = "snug"};
  const agent::ContainerView probe{.id = "p", .sandbox_id = "s", .name = "probe"};
  const auto ask = [&] { static_cast<void>(guard.create_container(own, probe)); };
  start();
  enforcement.probe_withdrawn();
  ask();
  enforcement.own_pod_shown({.uid = "own",
                             .containers = {{.name = "probe",
                                             .waiting_reason = "CreateContainerError",
                                             .waiting_message = R"(no plug-in "snug-probe")"}}});
  EXPECT_FALSE(enforcement.state().is_settled);
  ask();
  EXPECT_TRUE(enforcement.state().fails_closed);
  guard.disconnected();
  EXPECT_FALSE(enforcement.state().is_connected);
  EXPECT_EQ(metrics.take().back(), "lost");
  guard.connected({"containerd", "v2.4.2"});
  enforcement.probe_withdrawn();
  ask();
  guard.container_created(own, probe);
  EXPECT_FALSE(enforcement.state().fails_closed);
}

}  // namespace
}  // namespace snug::container_guard_test
