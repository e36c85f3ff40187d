// The monitor of the GPUs: what it passes on, and when it searches the files of the driver.
#include "snug/agent_service/device_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/agent_service/device_loop.hpp"
#include "snug/base/agent_limits.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::device_monitor_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const base::Error kLost{base::ErrorCode::kUnavailable, "the driver is gone"};

class FakeDevices final : public agent_service::DevicePort {
 public:
  base::Result<agent::NodeDevices> read() override {
    ++reads;
    return devices;
  }
  base::Result<std::optional<agent_service::DeviceEvent>> wait_for_event(milliseconds) override {
    return event;
  }

  base::Result<agent::NodeDevices> devices;
  base::Result<std::optional<agent_service::DeviceEvent>> event{std::nullopt};
  int reads = 0;
};

class DeviceMonitorTest : public ::testing::Test {
 protected:
  DeviceMonitorTest() {
    // The driver says what would recover its GPUs, so that health follows from each report.
    agent::NodeDevices devices = agent::testing::three_gpus();
    for (agent::DeviceReport& gpu : devices.gpus) {
      gpu.healthy = true;
      gpu.recovery = agent::Recovery::kNone;
      gpu.memory = base::MebiBytes{40'960};
    }
    driver.devices = std::move(devices);
    host.files = agent::testing::driver_files();
  }

  agent::DeviceReport& gpu(std::size_t index) { return driver.devices->gpus.at(index); }
  std::vector<bool> published_health() {
    std::vector<bool> healthy;
    for (const agent::DeviceReport& gpu : book.get()->devices.gpus) healthy.push_back(gpu.healthy);
    return healthy;
  }
  /// Reads again, and returns how often files were searched.
  std::size_t searches_of_read() {
    host.searches.clear();
    monitor.read();
    return host.searches.size();
  }

  base::ManualClock clock;
  FakeLog log;
  FakeDevices driver;
  FakeHostFiles host;
  NotingAgentMetrics metrics;
  agent_service::NodeBook book;
  agent_service::DeviceMonitor monitor{{driver, host, book, metrics, log, clock}};
};

TEST_F(DeviceMonitorTest, WhatTheDriverReportsIsPublishedWithItsFiles) {
  EXPECT_FALSE(monitor.has_read());
  monitor.read();
  EXPECT_TRUE(monitor.has_read());
  EXPECT_EQ(book.get()->devices, *driver.devices);
  EXPECT_EQ(book.get()->files, host.files);
  EXPECT_THAT(host.searches, ElementsAre("580.95.05"));
  EXPECT_THAT(metrics.take(), ElementsAre("read 3 0"));
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST_F(DeviceMonitorTest, WithoutAnAnswerTheGpusOfTheLastReportAreUnhealthy) {
  monitor.read();
  metrics.take();
  const agent::NodeDevices last = *driver.devices;
  driver.devices = std::unexpected(kLost);
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(false, false, false));
  EXPECT_EQ(book.get()->devices.gpus[0].ailment, "the driver does not answer");
  EXPECT_EQ(book.get()->devices.gpus[2].mig_slices, last.gpus[2].mig_slices);
  EXPECT_EQ(book.get()->devices.driver_version, last.driver_version);
  EXPECT_EQ(book.get()->files, host.files);
  EXPECT_THAT(metrics.take(), ElementsAre("not read 0 3", "not read 0 3", "not read 0 3"));
  EXPECT_THAT(log.take(), ElementsAre("the GPU driver does not answer", "the GPU is not healthy",
                                      "the GPU is not healthy", "the GPU is not healthy"));
  driver.devices = last;
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(true, true, true));
  EXPECT_THAT(log.take(), ElementsAre("the GPU driver answers again", "the GPU is healthy again",
                                      "the GPU is healthy again", "the GPU is healthy again"));
}

TEST_F(DeviceMonitorTest, ADriverThatHasNeverAnsweredIsNotRead) {
  driver.devices = std::unexpected(kLost);
  monitor.read();
  monitor.read();
  EXPECT_FALSE(monitor.has_read());
  EXPECT_THAT(log.take(), ElementsAre("the GPU driver does not answer"));
  driver.devices = agent::NodeDevices{};
  monitor.read();
  EXPECT_TRUE(monitor.has_read()) << "a node without a driver";
  EXPECT_THAT(host.searches, IsEmpty());
}

TEST_F(DeviceMonitorTest, AChangeOfAGpusHealthIsLoggedOnceWithItsReason) {
  monitor.read();
  gpu(1).healthy = false;
  gpu(1).ailment = "fell off";
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(log.fields(), ElementsAre(" gpu=GPU-b reason=fell off"));
  EXPECT_THAT(log.take(), ElementsAre("the GPU is not healthy"));
  gpu(1).healthy = true;
  gpu(1).ailment = "";
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(log.take(), ElementsAre("the GPU is healthy again"));
}

TEST_F(DeviceMonitorTest, AGpuWhoseReportCannotBeRightIsNotHealthy) {
  monitor.read();
  metrics.take();
  gpu(1).memory = {};
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(true, false, true));
  EXPECT_EQ(book.get()->devices.gpus[1].memory.value, 40'960);
  EXPECT_THAT(log.fields(), ElementsAre(" gpu=GPU-b reason=the driver says that it has no memory"));
  EXPECT_THAT(log.take(), ElementsAre("the GPU is not healthy"));
  EXPECT_THAT(metrics.take(), ElementsAre("read 2 1", "read 2 1", "read 2 1"));
}

TEST_F(DeviceMonitorTest, AGpuThatIsLeftOutIsLoggedOnceAndCountsAsNotHealthy) {
  gpu(1).uuid = "";
  for (int i = 0; i < 3; ++i) monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(true, true));
  EXPECT_THAT(log.fields(), ElementsAre(" index=1 reason=the driver gives it no uuid"));
  EXPECT_THAT(log.take(), ElementsAre("the GPU is left out"));
  EXPECT_THAT(metrics.take(), ElementsAre("read 2 1", "read 2 1", "read 2 1"));
  gpu(1).uuid = "GPU-b";
  monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(true, true, true));
  EXPECT_THAT(log.take(), ElementsAre("the driver reports another number of GPUs"));
}

TEST_F(DeviceMonitorTest, AnXidMakesItsGpuUnhealthyAtTheNextRead) {
  monitor.read();
  for (agent::DeviceReport& report : driver.devices->gpus) {
    report.recovery = agent::Recovery::kUnknown;
  }
  driver.event = agent_service::DeviceEvent{"GPU-a", 79};
  EXPECT_TRUE(monitor.wait_for_event(milliseconds(1)));
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("XID 79")));
  monitor.read();
  EXPECT_THAT(published_health(), ElementsAre(false, true, true));
  EXPECT_THAT(log.take(), ElementsAre("the GPU is not healthy"));
}

TEST_F(DeviceMonitorTest, OnlyAnEventOfTheDriverCallsForARead) {
  EXPECT_FALSE(monitor.wait_for_event(milliseconds(1)));
  driver.event = std::unexpected(kLost);
  EXPECT_FALSE(monitor.wait_for_event(milliseconds(1)));
  driver.event = agent_service::DeviceEvent{};  // what the driver knows has changed
  EXPECT_TRUE(monitor.wait_for_event(milliseconds(1)));
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST_F(DeviceMonitorTest, FilesAreSearchedAgainWhenWhatTheyDependOnChanges) {
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 0U);
  gpu(0).healthy = false;
  EXPECT_EQ(searches_of_read(), 0U);
  gpu(0).healthy = true;
  driver.devices->driver_version = "580.105.08";
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_THAT(host.searches, ElementsAre("580.105.08"));
  gpu(2).mig_slices.pop_back();
  EXPECT_EQ(searches_of_read(), 1U);
  std::swap(gpu(0).minor, gpu(1).minor);
  EXPECT_EQ(searches_of_read(), 0U) << "it is believed at the second read";
  EXPECT_EQ(searches_of_read(), 1U);
  driver.devices->gpus.erase(driver.devices->gpus.begin());
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 0U);
  // A driver that was loaded again has other device numbers.
  const auto devices = driver.devices;
  driver.devices = std::unexpected(kLost);
  EXPECT_EQ(searches_of_read(), 0U);
  driver.devices = devices;
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 0U);
}

TEST_F(DeviceMonitorTest, FilesAreSearchedUntilEveryDeviceNodeExists) {
  const agent::DriverFiles all = host.files;
  host.files = {};
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 1U);
  host.files = all;
  host.files.control_nodes.pop_back();  // nvidia-uvm, which the driver makes at the first use
  EXPECT_EQ(searches_of_read(), 1U);
  host.files = all;
  host.files.gpu_nodes.pop_back();
  EXPECT_EQ(searches_of_read(), 1U);
  host.files = all;
  host.files.capability_nodes.pop_back();
  EXPECT_EQ(searches_of_read(), 1U);
  host.files = all;
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(book.get()->files, all);
  EXPECT_EQ(searches_of_read(), 0U);
}

TEST_F(DeviceMonitorTest, IfFilesCannotBeReadTheLastOnesStayAndTheReasonIsLoggedOnce) {
  monitor.read();
  host.files_error = base::Error{base::ErrorCode::kUnavailable, "no folder"};
  driver.devices->driver_version = "580.105.08";
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(book.get()->files, host.files);
  EXPECT_THAT(log.fields(), ElementsAre(" reason=no folder"));
  EXPECT_THAT(log.take(), ElementsAre("the driver's files cannot be read"));
  host.files_error->message = "too many";
  monitor.read();
  EXPECT_THAT(log.take(), ElementsAre("the driver's files cannot be read"));
  host.files_error.reset();
  EXPECT_EQ(searches_of_read(), 1U);
  EXPECT_EQ(searches_of_read(), 0U);
}

TEST_F(DeviceMonitorTest, TheLoopReadsAtIntervalsAndSoonAfterAnEventButNotForEachOfMany) {
  agent_service::DeviceLoop loop(monitor, nullptr, nullptr, clock);
  const auto reads_in = [&](milliseconds time) {
    driver.reads = 0;
    for (milliseconds gone{0}; gone < time; gone += milliseconds(100)) {
      loop.step(milliseconds(100));
      clock.advance(milliseconds(100));
    }
    return driver.reads;
  };
  EXPECT_EQ(reads_in(milliseconds(3 * base::agent_limits::device_poll_ms)), 3);
  reads_in(milliseconds(base::agent_limits::device_poll_ms / 2));
  driver.event = agent_service::DeviceEvent{.uuid = "GPU-a", .xid = 31};
  loop.step(milliseconds(100));
  driver.event = std::nullopt;
  EXPECT_EQ(reads_in(milliseconds(100)), 1) << "the last read is long ago";
  driver.event = agent_service::DeviceEvent{.uuid = "GPU-a", .xid = 31};
  EXPECT_EQ(reads_in(milliseconds(20 * base::agent_limits::device_pause_ms)), 20);
}

}  // namespace
}  // namespace snug::device_monitor_test
