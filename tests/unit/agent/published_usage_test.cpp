// How much of each GPU is in use: the steps, the text and the meter.
#include "snug/agent/published_usage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "snug/agent_codec/usage_writer.hpp"
#include "snug/agent_service/usage_meter.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/codec/inventory_codec.hpp"
#include "support/fake_ports.hpp"

namespace snug::published_usage_test {
namespace {

using agent::usage_step;
using agent_service::DeviceUsage;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(UsageStepTest, IsTheNearestStepIfThereWasNone) {
  const std::pair<int, int> rows[] = {{0, 0},   {4, 0},    {5, 10},    {14, 10}, {15, 20},
                                      {94, 90}, {95, 100}, {100, 100}, {-1, 0},  {150, 100}};
  for (const auto& [percent, step] : rows)
    EXPECT_EQ(usage_step(percent, std::nullopt), step) << percent;
}

TEST(UsageStepTest, StaysWhileTheValueSwingsAroundTheMiddleOfTwoSteps) {
  for (int before = 0; before <= 100; before += 10) {
    for (int percent = 0; percent <= 100; ++percent) {
      const int step = usage_step(percent, before);
      EXPECT_EQ(step % 10, 0);
      EXPECT_EQ(step == before, percent > before - 8 && percent < before + 8)
          << before << " " << percent;
      EXPECT_LE(std::abs(step - percent), step == before ? 7 : 5);
    }
  }
  int step = 40;
  for (const int percent : {44, 46, 43, 47, 45}) step = usage_step(percent, step);
  EXPECT_EQ(step, 40);
  EXPECT_EQ(usage_step(48, 40), 50);
  EXPECT_EQ(usage_step(43, 50), 50) << "and back only when it is as far below";
}

TEST(UsageWriterTest, WhatIsWrittenIsReadBack) {
  const std::vector<agent::PublishedUsage> usage = {{"GPU-a", 40, 10}, {"GPU-b", 100, 0}};
  const std::string text = agent_codec::write_usage(usage);
  EXPECT_EQ(text, R"({"version":1,"gpus":[{"uuid":"GPU-a","memoryPercent":40,"computePercent":10},)"
                  R"({"uuid":"GPU-b","memoryPercent":100,"computePercent":0}]})");
  model::NodeFacts node{.name = "n1"};
  node.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[{"index":0,"uuid":"GPU-b","model":"A","memoryMiB":1},)"
      R"({"index":1,"uuid":"GPU-a","model":"A","memoryMiB":1}]})";
  node.annotations["snug.dev/usage"] = text;
  const model::NodeInventory inventory = codec::read_inventory(node, base::Limits{});
  ASSERT_EQ(inventory.gpus.size(), 2U);
  EXPECT_EQ(inventory.gpus[0].load, (model::GpuLoad{100, 0}));
  EXPECT_EQ(inventory.gpus[1].load, (model::GpuLoad{40, 10}));
}

class ScriptedUsage final : public agent_service::UsagePort {
 public:
  base::Result<std::vector<DeviceUsage>> read_usage() override {
    ++reads;
    if (error) return std::unexpected(*error);
    return usage;
  }

  std::vector<DeviceUsage> usage;
  std::optional<base::Error> error;
  int reads = 0;
};

class UsageMeterTest : public ::testing::Test {
 protected:
  /// Measures these values after an interval, and returns the annotation.
  std::string measure(std::vector<DeviceUsage> usage) {
    port.usage = std::move(usage);
    clock.advance(kInterval);
    meter.tick(clock.now());
    return meter.annotation().value_or("none");
  }
  static std::string text(const std::vector<agent::PublishedUsage>& usage) {
    return agent_codec::write_usage(usage);
  }

  static constexpr milliseconds kInterval{base::agent_limits::usage_interval_ms};
  base::ManualClock clock;
  ScriptedUsage port;
  FakeLog log;
  agent_service::UsageMeter meter{port, log};
};

TEST_F(UsageMeterTest, ReadsAtOnceAndThenOnceInAnInterval) {
  EXPECT_EQ(meter.annotation(), std::nullopt);
  meter.tick(clock.now());
  EXPECT_EQ(port.reads, 1);
  for (milliseconds gone{0}; gone < 3 * kInterval; gone += milliseconds(250)) {
    clock.advance(milliseconds(250));
    meter.tick(clock.now());
  }
  EXPECT_EQ(port.reads, 4);
}

TEST_F(UsageMeterTest, TheTextChangesWithTheStepsOnly) {
  EXPECT_EQ(measure({{"GPU-a", 12, 0}, {"GPU-b", 0, 51}}),
            text({{"GPU-a", 10, 0}, {"GPU-b", 0, 50}}));
  EXPECT_EQ(measure({{"GPU-a", 17, 2}, {"GPU-b", 7, 43}}),
            text({{"GPU-a", 10, 0}, {"GPU-b", 0, 50}}));
  EXPECT_EQ(measure({{"GPU-a", 18, 2}, {"GPU-b", 7, 42}}),
            text({{"GPU-a", 20, 0}, {"GPU-b", 0, 40}}));
  EXPECT_EQ(measure({{"GPU-b", 7, 42}}), text({{"GPU-b", 0, 40}}))
      << "a GPU that is lost has no usage";
  EXPECT_EQ(measure({{"GPU-a", 17, 0}, {"GPU-b", 7, 42}}),
            text({{"GPU-a", 20, 0}, {"GPU-b", 0, 40}}))
      << "what it had before is forgotten";
}

TEST_F(UsageMeterTest, WhileTheDriverDoesNotAnswerTheUsageIsUnknown) {
  EXPECT_EQ(measure({}), "none");
  EXPECT_EQ(measure({{"GPU-a", 50, 50}}), text({{"GPU-a", 50, 50}}));
  port.error = base::Error{base::ErrorCode::kUnavailable, "no driver"};
  EXPECT_EQ(measure({}), "none");
  EXPECT_EQ(measure({}), "none");
  ASSERT_THAT(log.lines(), SizeIs(1)) << "it is said once";
  EXPECT_THAT(log.lines()[0], HasSubstr("no driver"));
  port.error.reset();
  EXPECT_EQ(measure({{"GPU-a", 57, 50}}), text({{"GPU-a", 60, 50}}));
}

}  // namespace
}  // namespace snug::published_usage_test
