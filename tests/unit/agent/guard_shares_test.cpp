// The guard between the container runtime and what limits shares, with fakes around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/agent_service/container_guard.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::guard_shares_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Limits = model::ShareLimits;

/// The pod ml/train with a share of GPU-a.
class GuardSharesTest : public ::testing::Test {
 protected:
  GuardSharesTest() {
    book.set(std::make_shared<agent_service::NodeKnowledge>(agent_service::NodeKnowledge{
        agent::testing::three_gpus(), agent::testing::driver_files()}));
    sandboxes.sandboxes_listed({});
    c.container.cgroup_path = "/kubepods/c1";
  }

  void reserve(model::GpuMode mode) {
    const model::Reservation reservation{
        .uid = "u-1",
        .node = "n1",
        .containers = {
            {"main", "gpu-fraction=0.3",
             std::vector{model::ReservedDevice{
                 .index = 0, .uuid = "GPU-a", .mode = mode, .memory = {3815}, .compute = {300}}}}}};
    c.sandbox.annotations = codec::write_reservation(reservation, "main", {});
    c.pod->annotations = c.sandbox.annotations;
    pods.pods_listed({*c.pod});
    pods.stream_alive();
  }
  /// The guard of a node with this enforcer, connected to a runtime.
  agent_service::ContainerGuard& guard(Limits limits) {
    host.host_files = {"/libvgpu.so", "/ld.so.preload", "/sys/fs/cgroup/cgroup.controllers"};
    limiter.emplace(agent_service::ShareLimiter::Parts{memory_limits, host, log},
                    agent::ShareSettings{.limits = limits, .allows_mps = true});
    guard_ = std::make_unique<agent_service::ContainerGuard>(
        agent_service::ContainerGuard::Parts{.host = host,
                                             .pods = pods,
                                             .book = book,
                                             .enforcement = enforcement,
                                             .metrics = metrics,
                                             .log = log,
                                             .clock = clock,
                                             .running = running,
                                             .sandboxes = sandboxes,
                                             .limiter = *limiter,
                                             .mps = &mps},
        agent_service::ContainerGuard::Options{.node = "n1"});
    guard_->connected({"containerd", "v2.4.2"});
    log.take();
    return *guard_;
  }
  void check_daemons() {
    now += std::chrono::milliseconds(base::agent_limits::mps_look_ms);
    mps.tick(now);
  }

  base::ManualClock clock;
  base::TimePoint now;
  FakeLog log;
  FakeHostFiles host;
  FakeMpsPort mps_port;
  FakeMemoryLimits memory_limits;
  NotingAgentMetrics metrics;
  agent_service::PodBook pods;
  agent_service::NodeBook book;
  agent_service::EnforcementKeeper enforcement{{"snug", "snug-agent", "own"}};
  std::optional<agent_service::ShareLimiter> limiter;
  agent_service::RunningContainers running;
  agent_service::SandboxBook sandboxes;
  agent_service::MpsKeeper mps{{mps_port, pods, book, sandboxes, log}, {"n1", {}}};
  agent::testing::Case c;

 private:
  std::unique_ptr<agent_service::ContainerGuard> guard_;
};

TEST_F(GuardSharesTest, AContainerUnderMpsWaitsForItsDaemon) {
  reserve(model::GpuMode::kMps);
  auto& tested = guard(Limits::kMps);
  const auto refused = tested.create_container(c.sandbox, c.container);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("has not been started"));
  check_daemons();
  EXPECT_THAT(mps_port.asked, ElementsAre(std::vector<std::string>{"GPU-a"}));
  mps_port.states = {{"GPU-a", {mps::DaemonPhase::kReady, ""}}};
  check_daemons();
  const auto created = tested.create_container(c.sandbox, c.container);
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_THAT(created->env, Contains(Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=3815M")));
  EXPECT_EQ(created->mounts.size(), 3U);
  EXPECT_EQ(created->mounts[0].source, "/run/nvidia/mps/GPU-a/pipe");
  EXPECT_TRUE(tested.validate_container({c.sandbox, c.container, *created}));
  agent::Adjustment without = *created;
  without.mounts.clear();
  EXPECT_FALSE(tested.validate_container({c.sandbox, c.container, without}));
}

TEST_F(GuardSharesTest, AContainerSeesTheNamespaceThatItsDaemonWasAskedFor) {
  reserve(model::GpuMode::kMps);
  auto& tested = guard(Limits::kMps);
  check_daemons();
  ASSERT_EQ(mps_port.last.at("GPU-a").size(), 1U);
  const std::string name = mps_port.last.at("GPU-a").begin()->first;
  mps_port.states = {{"GPU-a", {mps::DaemonPhase::kReady, "", {{{name, ""}}}}}};
  check_daemons();
  const auto created = tested.create_container(c.sandbox, c.container);
  ASSERT_TRUE(created) << created.error().message;
  ASSERT_EQ(created->mounts.size(), 4U);
  EXPECT_EQ(created->mounts[0].source, "/run/nvidia/mps/GPU-a/pipe/snug/" + name);
  const auto valid = tested.validate_container({c.sandbox, c.container, *created});
  EXPECT_TRUE(valid) << valid.error().message;
}

TEST_F(GuardSharesTest, TheDriverLimitsAContainerBeforeItStarts) {
  reserve(model::GpuMode::kTimeSlicing);
  auto& tested = guard(Limits::kDriver);
  EXPECT_TRUE(tested.create_container(c.sandbox, c.container)->mounts.empty());
  EXPECT_THAT(memory_limits.calls, IsEmpty());
  EXPECT_TRUE(tested.start_container(c.sandbox, c.container));
  EXPECT_THAT(memory_limits.calls, ElementsAre("GPU-a /sys/fs/cgroup/kubepods/c1 3815"));
  memory_limits.error = base::Error{base::ErrorCode::kUnavailable, "no such cgroup"};
  const auto refused = tested.start_container(c.sandbox, c.container);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "snug: container \"main\": its share of a GPU cannot be limited: no such cgroup");
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("refused to start a container: snug:")));
}

TEST_F(GuardSharesTest, ContainersWithoutSharesStartWithoutTheDriver) {
  auto& tested = guard(Limits::kDriver);
  memory_limits.error = base::Error{base::ErrorCode::kUnavailable, "not to be asked"};
  EXPECT_TRUE(tested.start_container(c.sandbox, c.container)) << "no reservation";
  reserve(model::GpuMode::kWhole);
  EXPECT_TRUE(tested.start_container(c.sandbox, c.container));
  reserve(model::GpuMode::kTimeSlicing);
  EXPECT_FALSE(tested.start_container(c.sandbox, c.container));
  EXPECT_TRUE(guard(Limits::kNone).start_container(c.sandbox, c.container));
}

TEST_F(GuardSharesTest, OnCriOTheDriverIsNotOffered) {
  reserve(model::GpuMode::kTimeSlicing);
  auto& tested = guard(Limits::kDriver);
  tested.connected({"cri-o", "1.34.1"});
  EXPECT_EQ(limiter->settings().limits, Limits::kNone);
  EXPECT_TRUE(tested.start_container(c.sandbox, c.container));
  EXPECT_THAT(memory_limits.calls, IsEmpty());
}

TEST_F(GuardSharesTest, WhatStartedWithoutTheAgentIsLimitedWhenItIsBack) {
  reserve(model::GpuMode::kTimeSlicing);
  auto& tested = guard(Limits::kDriver);
  agent::ContainerView stopped = c.container;
  stopped.id = "c0";
  stopped.cgroup_path = "/kubepods/c0";
  stopped.state = agent::ContainerState::kStopped;
  agent::ContainerView created = c.container;
  created.id = "c2";
  created.cgroup_path = "/kubepods/c2";
  created.state = agent::ContainerState::kCreated;
  tested.synchronized({c.sandbox}, {stopped, c.container, created});
  EXPECT_THAT(memory_limits.calls, IsEmpty()) << "the runtime waits for the answer";
  tested.tick(true);
  EXPECT_THAT(memory_limits.calls, ElementsAre("GPU-a /sys/fs/cgroup/kubepods/c1 3815"))
      << "one has ended, and one is limited when it starts";
  memory_limits.error = base::Error{base::ErrorCode::kUnavailable, "no such cgroup"};
  tested.synchronized({c.sandbox}, {c.container});
  tested.tick(true);
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("cannot be limited: no such cgroup")));
}

TEST_F(GuardSharesTest, WhatRunsIsLimitedWhenTheDriverAnswersAgain) {
  reserve(model::GpuMode::kTimeSlicing);
  auto& tested = guard(Limits::kDriver);
  memory_limits.error = base::Error{base::ErrorCode::kUnavailable, "the driver is opened anew"};
  tested.synchronized({c.sandbox}, {c.container});
  const auto tick_later = [&] {
    clock.advance(std::chrono::milliseconds(base::agent_limits::device_poll_ms));
    tested.tick(true);
  };
  for (int i = 0; i < 3; ++i) tick_later();
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("is opened anew"))) << "once";
  memory_limits.error.reset();
  for (int i = 0; i < 3; ++i) tick_later();
  EXPECT_THAT(memory_limits.calls, ElementsAre("GPU-a /sys/fs/cgroup/kubepods/c1 3815"));
}

TEST_F(GuardSharesTest, WhatRunsIsLimitedAgainWhenTheDriverWasLoadedAnew) {
  reserve(model::GpuMode::kTimeSlicing);
  auto& tested = guard(Limits::kDriver);
  tested.synchronized({c.sandbox}, {c.container});
  for (int i = 0; i < 3; ++i) tested.tick(true);
  EXPECT_THAT(memory_limits.calls, SizeIs(1));
  ++memory_limits.opened;
  tested.tick(false);
  EXPECT_THAT(memory_limits.calls, SizeIs(1)) << "its GPUs are not known yet";
  for (int i = 0; i < 3; ++i) tested.tick(true);
  EXPECT_THAT(memory_limits.calls, SizeIs(2));
}

}  // namespace
}  // namespace snug::guard_shares_test
