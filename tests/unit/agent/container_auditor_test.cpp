// Audits of what runs, and stopping, with fakes around them.
#include "snug/agent_service/container_auditor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "snug/base/agent_limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::container_auditor_test {
namespace {

using agent::testing::Case;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class NotingStopper final : public agent_service::ContainerStopPort {
 public:
  base::Result<void> stop_container(std::string_view container_id,
                                    std::string_view cgroup_path) override {
    calls.push_back(std::string(container_id) + " " + std::string(cgroup_path));
    if (error) return std::unexpected(*error);
    return {};
  }

  std::vector<std::string> calls;
  std::optional<base::Error> error;
};

class ContainerAuditorTest : public ::testing::Test {
 protected:
  ContainerAuditorTest() { set_devices(agent::testing::three_gpus()); }

  void set_devices(agent::NodeDevices devices) {
    book.set(std::make_shared<agent_service::NodeKnowledge>(
        agent_service::NodeKnowledge{std::move(devices), agent::testing::driver_files()}));
  }
  /// The pod's only container runs with the variable as its image has it.
  Case greedy(const std::string& uid) {
    Case c;
    c.sandbox.name = c.pod->name = "greedy-" + uid;
    c.sandbox.uid = c.pod->uid = c.pod->runtime_uid = uid;
    c.sandbox.id = c.container.sandbox_id = "s-" + uid;
    c.container.id = "c-" + uid;
    c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    c.container.cgroup_path = "/kubepods/c-" + uid;
    return c;
  }
  /// The pod's container has the slice MIG-2, which it has reserved.
  Case sliced(const std::string& uid) {
    Case c = greedy(uid);
    const model::Reservation reservation{
        .uid = uid,
        .node = "n1",
        .containers = {{"main", "mig", std::vector{agent::testing::slice("2g.10gb", 2)}}}};
    c.sandbox.annotations = codec::write_reservation(reservation, "main", {});
    c.container.env = {"NVIDIA_VISIBLE_DEVICES=void"};
    c.container.devices = {{"/dev/nvidia2", "c", 195, 2},
                           {"/dev/nvidiactl", "c", 195, 255},
                           {"/dev/nvidia-uvm", "c", 511, 0},
                           {"/dev/nvidia-caps/nvidia-cap30", "c", 508, 30},
                           {"/dev/nvidia-caps/nvidia-cap31", "c", 508, 31}};
    return c;
  }
  void run(const std::vector<Case>& cases) {
    std::vector<agent::SandboxView> sandboxes;
    std::vector<agent::ContainerView> containers;
    std::vector<agent::PodView> shown;
    for (const Case& c : cases) {
      sandboxes.push_back(c.sandbox);
      containers.push_back(c.container);
      shown.push_back(*c.pod);
    }
    running.listed(sandboxes, containers);
    pods.pods_listed(std::move(shown));
    pods.stream_alive();
  }
  static agent::NodeDevices with_slices_exchanged() {
    agent::NodeDevices devices = agent::testing::three_gpus();
    auto& slices = devices.gpus[2].mig_slices;
    std::swap(slices[0].gpu_instance, slices[1].gpu_instance);
    return devices;
  }
  void tick() { auditor.tick(now, {.has_devices = true, .gives_devices = true}); }
  void tick_after(std::int64_t wait_ms) {
    now += milliseconds(wait_ms);
    tick();
  }
  agent_service::ContainerAuditor::OnEvent on_event() {
    return [this](const agent::SandboxView& sandbox, std::string_view reason, std::string note) {
      events.push_back(sandbox.name + " " + std::string(reason));
      notes.push_back(std::move(note));
    };
  }
  agent_service::ContainerAuditor make(agent_service::ContainerStopPort* stop) {
    return {{running, pods, book, metrics, log, stop},
            {.node = "n1", .exemptions = agent::default_exemptions()},
            on_event()};
  }

  base::TimePoint now = base::TimePoint() + std::chrono::hours(1);
  FakeLog log;
  NotingAgentMetrics metrics;
  agent_service::PodBook pods;
  agent_service::NodeBook book;
  agent_service::RunningContainers running;
  NotingStopper stopper;
  std::vector<std::string> events;  // pod and reason
  std::vector<std::string> notes;
  agent_service::ContainerAuditor auditor = make(nullptr);
};

class StoppingAuditorTest : public ContainerAuditorTest {
 protected:
  void stop_tick_after(std::int64_t wait_ms) {
    now += milliseconds(wait_ms);
    stopping.tick(now, {.has_devices = true, .gives_devices = true});
  }
  agent_service::ContainerAuditor stopping = make(&stopper);
};

TEST_F(ContainerAuditorTest, NothingIsAuditedBeforePodsAndGpusAndContainersAreKnown) {
  tick();
  EXPECT_THAT(metrics.take(), IsEmpty()) << "no pods";
  pods.pods_listed({});
  pods.stream_alive();
  tick();
  EXPECT_THAT(metrics.take(), IsEmpty()) << "no containers";
  run({greedy("u-2")});
  auditor.tick(now, {.has_devices = false, .gives_devices = true});
  EXPECT_THAT(metrics.take(), IsEmpty()) << "no GPUs";
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 0"));
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu"));
}

TEST_F(ContainerAuditorTest, AuditsAreRepeatedAndFindingsReportedOnce) {
  Case privileged = greedy("u-3");
  privileged.pod->containers[0].privileged = true;
  run({greedy("u-2"), privileged});
  tick();
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 1"));
  tick_after(base::agent_limits::audit_interval_ms - 1);
  EXPECT_THAT(metrics.take(), IsEmpty());
  tick_after(1);
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 1"));
  running.listed({}, {});
  run({greedy("u-2"), privileged});  // the runtime has connected again
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 1"));
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu"));
  EXPECT_EQ(log.take().size(), 2U) << "one of them for debugging";
}

TEST_F(ContainerAuditorTest, ContainersThatWereCreatedSinceAreAudited) {
  run({});
  tick();
  const Case late = greedy("u-2");
  pods.pod_changed(*late.pod);
  running.created(late.sandbox, late.container);
  tick_after(base::agent_limits::audit_interval_ms);
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu"));
}

TEST_F(ContainerAuditorTest, AFindingEndsWithItsContainer) {
  run({greedy("u-2"), greedy("u-3")});
  tick();
  metrics.take();
  running.ended("c-u-2");
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 0")) << "without another audit";
  running.sandbox_stopped("s-u-3");
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 0 0 0"));
  tick();
  EXPECT_THAT(metrics.take(), IsEmpty());
}

TEST_F(ContainerAuditorTest, AChangeOfTheDevicesIsAuditedAtOnce) {
  run({sliced("u-2")});
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 0 0 0"));
  set_devices(agent::testing::three_gpus());  // read again, and the same
  tick();
  EXPECT_THAT(metrics.take(), IsEmpty());
  set_devices(with_slices_exchanged());
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 0 1 0"));
  EXPECT_THAT(events, ElementsAre("greedy-u-2 StaleDevices"));
  set_devices(agent::testing::three_gpus());
  tick();
  EXPECT_THAT(metrics.take(), ElementsAre("audited 0 0 0")) << "the container is right again";
  set_devices(with_slices_exchanged());
  tick();
  EXPECT_EQ(events.size(), 2U) << "another finding";
  EXPECT_THAT(stopper.calls, IsEmpty());
}

TEST_F(StoppingAuditorTest, AViolatorIsStoppedOnceAndItsEndEndsTheFinding) {
  Case privileged = greedy("u-3");
  privileged.pod->containers[0].privileged = true;
  Case exempt = greedy("u-4");
  exempt.sandbox.name_space = exempt.pod->name_space = "gpu-operator";
  exempt.pod->service_account = "nvidia-dcgm";
  run({greedy("u-2"), privileged, exempt});
  stop_tick_after(0);
  EXPECT_THAT(stopper.calls, ElementsAre("c-u-2 /kubepods/c-u-2"));
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu", "greedy-u-2 StoppedContainer"));
  EXPECT_THAT(notes[1], AllOf(StartsWith("snug-agent has stopped the container: "),
                              HasSubstr("NVIDIA_VISIBLE_DEVICES=\"all\"")));
  EXPECT_THAT(metrics.take(), ElementsAre("audited 1 0 1", "stopped"));
  running.ended("c-u-2");
  stop_tick_after(base::agent_limits::stop_retry_last_ms);
  EXPECT_EQ(stopper.calls.size(), 1U);
  EXPECT_EQ(events.size(), 2U);
}

TEST_F(StoppingAuditorTest, DevicesThatAreStaleInTheNextReadTooAreAViolation) {
  run({sliced("u-2")});
  stop_tick_after(0);
  EXPECT_THAT(stopper.calls, IsEmpty());
  set_devices(with_slices_exchanged());
  stop_tick_after(0);
  stop_tick_after(base::agent_limits::device_poll_ms);
  EXPECT_THAT(stopper.calls, IsEmpty());
  stop_tick_after(base::agent_limits::stop_retry_ms);
  EXPECT_THAT(events, ElementsAre("greedy-u-2 StaleDevices", "greedy-u-2 StoppedContainer"));
}

TEST_F(StoppingAuditorTest, EachTickStopsOneContainer) {
  run({greedy("u-2"), greedy("u-3")});
  stop_tick_after(0);
  EXPECT_EQ(stopper.calls.size(), 1U);
  stop_tick_after(0);
  EXPECT_EQ(stopper.calls.size(), 2U);
}

TEST_F(StoppingAuditorTest, TriesAreBoundedAndTheirWaitsGrow) {
  stopper.error = base::Error{base::ErrorCode::kUnavailable, "not permitted"};
  run({greedy("u-2")});
  std::vector<std::int64_t> seconds;
  for (std::int64_t second = 0; second < 600; ++second) {
    const std::size_t before = stopper.calls.size();
    stop_tick_after(1'000);
    if (stopper.calls.size() != before) seconds.push_back(second);
  }
  EXPECT_THAT(seconds, ElementsAre(0, 2, 6, 14, 30, 62, 122, 182));
  EXPECT_EQ(std::ssize(seconds), base::agent_limits::max_stop_tries);
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu", "greedy-u-2 StopFailed"));
  EXPECT_THAT(notes[1], HasSubstr("(not permitted)"));
  const auto noted = metrics.take();
  EXPECT_EQ(std::ranges::count(noted, "not stopped"), 1);
}

TEST_F(StoppingAuditorTest, AContainerThatLivesOnAfterAKillIsKilledAgain) {
  run({greedy("u-2")});
  stop_tick_after(0);
  stop_tick_after(base::agent_limits::stop_retry_ms - 1);
  EXPECT_EQ(stopper.calls.size(), 1U);
  stop_tick_after(1);
  EXPECT_EQ(stopper.calls.size(), 2U);
  EXPECT_EQ(events.size(), 2U) << "that it was stopped is said once";
}

TEST_F(StoppingAuditorTest, AContainerThatHasNoProcessesAfterAKillHasEnded) {
  run({greedy("u-2")});
  stop_tick_after(0);
  stopper.error = base::Error{base::ErrorCode::kNotFound, "no processes"};
  stop_tick_after(base::agent_limits::stop_retry_ms);
  stop_tick_after(0);
  EXPECT_FALSE(running.has("c-u-2"));
  EXPECT_EQ(metrics.take().back(), "audited 0 0 0");
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu", "greedy-u-2 StoppedContainer"));
}

TEST_F(StoppingAuditorTest, AContainerWhoseProcessesWereNeverFoundMayRun) {
  stopper.error = base::Error{base::ErrorCode::kNotFound, "no processes"};
  run({greedy("u-2")});
  for (int i = 0; i < base::agent_limits::max_stop_tries; ++i) {
    stop_tick_after(base::agent_limits::stop_retry_last_ms);
  }
  EXPECT_EQ(std::ssize(stopper.calls), base::agent_limits::max_stop_tries);
  EXPECT_TRUE(running.has("c-u-2"));
  EXPECT_THAT(metrics.take(), AllOf(Contains("audited 1 0 0"), Not(Contains("audited 0 0 0"))));
  ASSERT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu", "greedy-u-2 StopFailed"));
  EXPECT_THAT(notes[1], HasSubstr("(no processes)"));
}

TEST_F(StoppingAuditorTest, WhatIsSaidOfAStopIsWhatTheLastAuditFound) {
  stopper.error = base::Error{base::ErrorCode::kUnavailable, "not permitted"};
  Case c = greedy("u-2");
  run({c});
  stop_tick_after(0);
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=3"};
  run({c});
  stopper.error.reset();
  stop_tick_after(base::agent_limits::stop_retry_ms);
  ASSERT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu", "greedy-u-2 StoppedContainer"));
  EXPECT_THAT(notes[1], HasSubstr("NVIDIA_VISIBLE_DEVICES=\"3\""));
}

TEST_F(StoppingAuditorTest, NothingIsStoppedWhereTheRuntimeCouldNotDoBetter) {
  run({greedy("u-2")});
  stopping.tick(now, {.has_devices = true, .gives_devices = false});
  EXPECT_THAT(events, ElementsAre("greedy-u-2 ForeignGpu"));
  EXPECT_THAT(stopper.calls, IsEmpty());
}

}  // namespace
}  // namespace snug::container_auditor_test
