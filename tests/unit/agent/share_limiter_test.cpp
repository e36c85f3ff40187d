// Which enforcer the node offers, and the limits that the driver gets.
#include "snug/agent_service/share_limiter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"

namespace snug::share_limiter_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Limits = model::ShareLimits;

class ShareLimiterTest : public ::testing::Test {
 protected:
  std::unique_ptr<agent_service::ShareLimiter> limiter(Limits limits) {
    return std::make_unique<agent_service::ShareLimiter>(
        agent_service::ShareLimiter::Parts{port, host, log},
        agent::ShareSettings{.limits = limits, .allows_mps = true, .hami_core = "/opt/hami"});
  }
  /// When the next look at files is due.
  void refresh(agent_service::ShareLimiter& tested) {
    now += kCheck;
    tested.refresh(now);
  }
  ShareLimiterTest() {
    host.host_root = "/host";
    host.host_files = {"/sys/fs/cgroup/cgroup.controllers", "/opt/hami/libvgpu.so",
                       "/opt/hami/ld.so.preload"};
  }

  static constexpr std::chrono::milliseconds kCheck{base::agent_limits::host_check_ms};
  base::TimePoint now{};
  FakeLog log;
  FakeHostFiles host;
  FakeMemoryLimits port;
};

TEST_F(ShareLimiterTest, TheNodeOffersTheChosenEnforcerIfItCan) {
  for (const Limits limits : {Limits::kNone, Limits::kMps, Limits::kHamiCore, Limits::kDriver}) {
    const auto tested = limiter(limits);
    tested->runtime_connected(true);
    EXPECT_EQ(tested->settings().limits, limits);
    EXPECT_EQ(tested->settings().hami_core, "/opt/hami");
    EXPECT_TRUE(tested->settings().allows_mps);
  }
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST_F(ShareLimiterTest, TheReasonAgainstAnEnforcerIsLoggedWhenItChanges) {
  const auto hami = limiter(Limits::kHamiCore);
  host.host_files.erase("/opt/hami/ld.so.preload");
  refresh(*hami);
  refresh(*hami);
  EXPECT_EQ(hami->settings().limits, Limits::kNone);
  EXPECT_THAT(log.take(), ElementsAre("shares are not limited by hami-core: "
                                      "/opt/hami/ld.so.preload does not exist on the host"));
  host.host_files.insert("/opt/hami/ld.so.preload");
  refresh(*hami);
  EXPECT_EQ(hami->settings().limits, Limits::kHamiCore);
  EXPECT_THAT(log.take(), ElementsAre("shares are limited by hami-core"));

  const auto driver = limiter(Limits::kDriver);
  refresh(*driver);
  EXPECT_EQ(driver->settings().limits, Limits::kNone);
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("the container runtime is not connected")));
  driver->runtime_connected(true);
  EXPECT_EQ(driver->settings().limits, Limits::kDriver) << "at once";
  refresh(*driver);
  port.able = false;
  EXPECT_EQ(driver->settings().limits, Limits::kNone) << "at once";
  refresh(*driver);
  host.host_files.clear();
  refresh(*driver);
  EXPECT_EQ(driver->settings().limits, Limits::kNone);
  EXPECT_THAT(log.take(), ElementsAre("shares are limited by driver", HasSubstr("615 or later"),
                                      HasSubstr("cgroup version 2")));
}

TEST_F(ShareLimiterTest, FilesAreLookedAtOnceInASecondAndTheRuntimeCountsAtOnce) {
  const auto driver = limiter(Limits::kDriver);
  refresh(*driver);
  const int before = host.looks;
  host.host_files.clear();
  driver->runtime_connected(true);
  log.take();
  for (const int ms : {0, 50, 999}) driver->refresh(now + std::chrono::milliseconds(ms));
  EXPECT_EQ(host.looks, before);
  EXPECT_THAT(log.take(), ElementsAre("shares are limited by driver"));
  driver->refresh(now + kCheck);
  EXPECT_EQ(host.looks, before + 1);
  EXPECT_EQ(driver->settings().limits, Limits::kNone);
}

TEST_F(ShareLimiterTest, TheDriverGetsTheCgroupAsTheAgentSeesIt) {
  const agent::MemoryLimit limits[] = {{"GPU-a", {100}}, {"GPU-b", {200}}};
  const auto driver = limiter(Limits::kDriver);
  driver->runtime_connected(true);
  ASSERT_TRUE(driver->limit("kubepods.slice:cri-containerd:c1", limits));
  const std::string folder = " /host/sys/fs/cgroup/kubepods.slice/cri-containerd-c1.scope ";
  EXPECT_THAT(port.calls, ElementsAre("GPU-a" + folder + "100", "GPU-b" + folder + "200"));
  EXPECT_THAT(driver->limit("c1", limits).error().message, HasSubstr("\"c1\""));
  EXPECT_TRUE(driver->limit("c1", {})) << "nothing is to be limited";
  port.error = base::Error{base::ErrorCode::kUnavailable, "no such cgroup"};
  EXPECT_EQ(driver->limit("/c1", limits).error().message, "no such cgroup");
  EXPECT_EQ(port.calls.size(), 2U);
}

TEST_F(ShareLimiterTest, OtherEnforcersAskTheDriverForNothing) {
  const agent::MemoryLimit limits[] = {{"GPU-a", {100}}};
  for (const Limits other : {Limits::kNone, Limits::kMps, Limits::kHamiCore}) {
    EXPECT_TRUE(limiter(other)->limit("/c1", limits));
  }
  host.host_files.clear();
  const auto driver = limiter(Limits::kDriver);
  driver->runtime_connected(true);
  EXPECT_TRUE(driver->limit("/c1", limits)) << "the node does not offer it";
  EXPECT_THAT(port.calls, IsEmpty());
}

}  // namespace
}  // namespace snug::share_limiter_test
