#include "snug/agent/gpu_health.hpp"

#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"

namespace snug::gpu_health_test {
namespace {

using agent::GpuHealth;
using agent::NodeDevices;
using agent::Recovery;
using std::chrono::milliseconds;

constexpr base::TimePoint kStart{std::chrono::hours(1)};
constexpr milliseconds kSettle{base::agent_limits::recovery_settle_ms};
constexpr milliseconds kQuiet{base::agent_limits::xid_quiet_ms};

NodeDevices two_gpus(Recovery recovery = Recovery::kUnknown) {
  NodeDevices devices{.driver_version = "615"};
  for (int i = 0; i < 2; ++i) {
    devices.gpus.push_back({.index = i, .uuid = "GPU-" + std::to_string(i), .recovery = recovery});
  }
  return devices;
}

/// What `health` makes of a report: the ailments of its GPUs, which are healthy where there is
/// none.
std::vector<std::string> ailments(GpuHealth& health, base::TimePoint now,
                                  NodeDevices devices = two_gpus()) {
  health.apply(devices, now);
  std::vector<std::string> texts;
  for (const agent::DeviceReport& gpu : devices.gpus) {
    EXPECT_EQ(gpu.healthy, gpu.ailment.empty());
    texts.push_back(gpu.ailment);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(GpuHealthTest, ErrorsOfApplicationsLeaveTheGpuHealthy) {
  for (const std::uint64_t xid : {0U, 13U, 31U, 43U, 45U, 68U, 109U}) {
    GpuHealth health;
    (void)ailments(health, kStart);
    health.note_xid("GPU-0", xid, kStart);
    EXPECT_EQ(ailments(health, kStart), (Texts{"", ""})) << xid;
  }
}

TEST(GpuHealthTest, AnyOtherErrorMakesItsGpuUnhealthyWithASentence) {
  const std::pair<std::uint64_t, std::string> rows[] = {
      {79, "XID 79: the GPU has fallen off the bus"},
      {94, "XID 94: contained memory error"},
      {4711, "XID 4711: an error of the GPU or its driver"}};
  for (const auto& [xid, sentence] : rows) {
    GpuHealth health;
    health.note_xid("GPU-1", xid, kStart);
    EXPECT_EQ(ailments(health, kStart), (Texts{"", sentence}));
  }
}

TEST(GpuHealthTest, AnErrorOfNoGpuMakesAllUnhealthy) {
  GpuHealth health;
  (void)ailments(health, kStart);
  health.note_xid("", 48, kStart);
  EXPECT_EQ(ailments(health, kStart),
            (Texts{"XID 48: double-bit memory error", "XID 48: double-bit memory error"}));
}

TEST(GpuHealthTest, ADeviceErrorEndsOnlyWhenTheGpuWasAwayAndIsBack) {
  GpuHealth health;
  health.note_xid("GPU-0", 79, kStart);
  EXPECT_NE(ailments(health, kStart + 100 * kQuiet)[0], "");
  NodeDevices lost = two_gpus();
  lost.gpus[0].healthy = false;
  lost.gpus[0].ailment = "the driver does not reach the GPU";
  EXPECT_EQ(ailments(health, kStart + 101 * kQuiet, lost)[0],
            "XID 79: the GPU has fallen off the bus; the driver does not reach the GPU");
  EXPECT_EQ(ailments(health, kStart + 101 * kQuiet), (Texts{"", ""}));
}

TEST(GpuHealthTest, ARestartOfTheDriverEndsAllErrors) {
  GpuHealth health;
  health.note_xid("GPU-0", 79, kStart);
  health.note_xid("GPU-1", 95, kStart);
  EXPECT_EQ(ailments(health, kStart, {}), Texts{});
  EXPECT_EQ(ailments(health, kStart), (Texts{"", ""}));
}

TEST(GpuHealthTest, AnErrorAfterTheReturnCountsAnew) {
  GpuHealth health;
  health.note_xid("GPU-0", 79, kStart);
  (void)ailments(health, kStart, {});
  health.note_xid("GPU-0", 79, kStart);
  EXPECT_NE(ailments(health, kStart)[0], "");
}

TEST(GpuHealthTest, APassingErrorEndsAfterAQuietTime) {
  GpuHealth health;
  health.note_xid("GPU-0", 94, kStart);
  EXPECT_NE(ailments(health, kStart + kQuiet - milliseconds(1))[0], "");
  health.note_xid("GPU-0", 94, kStart + kQuiet);
  EXPECT_NE(ailments(health, kStart + 2 * kQuiet - milliseconds(1))[0], "");
  EXPECT_EQ(ailments(health, kStart + 2 * kQuiet)[0], "");
}

TEST(GpuHealthTest, APassingErrorAfterADeviceErrorDoesNotEndIt) {
  GpuHealth health;
  health.note_xid("GPU-0", 95, kStart);
  health.note_xid("GPU-0", 94, kStart);
  EXPECT_EQ(ailments(health, kStart + 2 * kQuiet)[0], "XID 94: contained memory error");
}

TEST(GpuHealthTest, WhatTheDriverSaysDecidesOnceItHasSettled) {
  GpuHealth health;
  health.note_xid("GPU-0", 79, kStart);
  const base::TimePoint settled = kStart + kSettle;
  EXPECT_NE(ailments(health, settled - milliseconds(1), two_gpus(Recovery::kNone))[0], "");
  EXPECT_NE(ailments(health, settled + kQuiet, two_gpus(Recovery::kResetGpu))[0], "");
  EXPECT_EQ(ailments(health, settled, two_gpus(Recovery::kNone)), (Texts{"", ""}));
}

TEST(GpuHealthTest, AGpuThatNeedsRecoveryIsUnhealthyWithoutAnError) {
  const std::pair<Recovery, std::string> rows[] = {
      {Recovery::kUnknown, ""},
      {Recovery::kNone, ""},
      {Recovery::kResetGpu, "the driver asks to reset the GPU"},
      {Recovery::kDrainAndReset, "the driver asks to drain the GPU and to reset it"},
      {Recovery::kDrainPeers, "the driver asks to end the use of the GPU by its peers"},
      {Recovery::kRebootNode, "the driver asks to reboot the node"},
      {Recovery::kOther, "the driver says that the GPU needs recovery"}};
  for (const auto& [recovery, sentence] : rows) {
    GpuHealth health;
    EXPECT_EQ(ailments(health, kStart, two_gpus(recovery))[0], sentence);
  }
}

TEST(GpuHealthTest, TheMemoryOfErrorsIsBounded) {
  GpuHealth health;
  (void)ailments(health, kStart);
  health.note_xid("GPU-0", 79, kStart);
  for (int i = 0; i < 2 * base::agent_limits::max_sick_gpus; ++i) {
    health.note_xid("gone-" + std::to_string(i), 79, kStart);
  }
  EXPECT_NE(ailments(health, kStart)[0], "") << "the GPU that is there was forgotten";
}

}  // namespace
}  // namespace snug::gpu_health_test
