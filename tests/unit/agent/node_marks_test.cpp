// What the agent says of its node, and when.
#include "snug/agent_service/node_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/agent_codec/inventory_writer.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::node_marks_test {
namespace {

agent::NodeDevices real_gpus() {
  agent::NodeDevices devices = agent::testing::three_gpus();
  for (agent::DeviceReport& gpu : devices.gpus) {
    gpu.model = "NVIDIA-A100-SXM4-40GB";
    gpu.memory = {40960};
  }
  return devices;
}

class NodeMarksTest : public ::testing::Test {
 protected:
  NodeMarksTest() {
    auto knowledge = std::make_shared<agent_service::NodeKnowledge>();
    knowledge->devices = real_gpus();
    book.set(std::move(knowledge));
  }
  void tick(bool has_devices = true, bool can_answer = true) {
    clock.advance(std::chrono::seconds(2));
    keeper.tick(clock.now(), {has_devices, can_answer});
  }
  static std::string inventory(std::string boot_id, model::Enforcement enforcement) {
    return agent_codec::write_inventory(agent::make_inventory(
        real_gpus(), {.boot_id = std::move(boot_id), .modes = kModes, .enforcement = enforcement}));
  }

  static inline const std::vector<model::GpuMode> kModes{model::GpuMode::kWhole};
  base::ManualClock clock;
  FakeLog log;
  NotingAgentMetrics metrics;
  FakeNode node;
  agent_service::NodeBook book;
  agent_service::EnforcementKeeper enforcement{{}};
  FakeMemoryLimits memory_limits;
  FakeHostFiles host;
  agent_service::ShareLimiter limiter{{memory_limits, host, log}, {}};
  agent_service::SliceTroubleBook troubles;
  agent_service::NodeMarksKeeper keeper{{node, book, enforcement, limiter, troubles, metrics, log},
                                        {"n1", {.boot_id = "b", .modes = kModes}, base::Limits{}}};
};

TEST_F(NodeMarksTest, NothingIsWrittenBeforeTheGpusAreRead) {
  tick(false);
  EXPECT_EQ(node.writes, 0);
  EXPECT_FALSE(keeper.is_published());
  tick();
  EXPECT_EQ(node.marks.inventory, inventory("b", model::Enforcement::kOpen));
  EXPECT_EQ(node.marks.enforced, std::nullopt);
  EXPECT_TRUE(keeper.is_published());
}

TEST_F(NodeMarksTest, TheFirstWriteWaitsForAWhileForAllThatTheAgentCanKnow) {
  tick(true, false);
  EXPECT_EQ(node.writes, 0) << "an earlier agent may have said more";
  for (int seconds = 0; seconds < 30; seconds += 2) tick(true, false);
  EXPECT_EQ(node.writes, 1) << "a runtime without plug-ins";
}

TEST_F(NodeMarksTest, LaterWritesDoNotWait) {
  tick();
  troubles.set(std::make_shared<agent_service::SliceTroubles>(agent_service::SliceTroubles{
      .all = {}, .failed = {{"GPU-m", "1g.5gb", 4, "u-a", "the driver refused it"}}}));
  tick(true, false);
  EXPECT_EQ(node.writes, 2);
}

TEST_F(NodeMarksTest, TheClaimOfAnEarlierAgentOfThisBootStandsUntilItIsDisproved) {
  node.marks = {inventory("b", model::Enforcement::kFailClosed), "true"};
  enforcement.runtime_connected({.cdi_injection = true, .validation = true});
  tick();
  EXPECT_EQ(node.marks, (agent_service::NodePort::Marks{
                            inventory("b", model::Enforcement::kFailClosed), "true"}));
  EXPECT_EQ(node.writes, 0);
  enforcement.runtime_disconnected();
  enforcement.runtime_connected({});  // an older runtime, which cannot refuse
  tick();
  EXPECT_EQ(node.marks, (agent_service::NodePort::Marks{inventory("b", model::Enforcement::kOpen),
                                                        std::nullopt}));
}

TEST_F(NodeMarksTest, TheClaimOfAnEarlierBootDoesNotCount) {
  node.marks = {inventory("before", model::Enforcement::kFailClosed), "true"};
  tick();
  EXPECT_EQ(node.marks.enforced, std::nullopt);
}

TEST_F(NodeMarksTest, WhileTheNodeCannotBeReadNothingIsWritten) {
  node.read_error = base::Error{base::ErrorCode::kUnavailable, "no route"};
  tick();
  tick();
  EXPECT_EQ(node.writes, 0) << "an earlier claim may stand there";
  EXPECT_THAT(log.take(),
              ::testing::ElementsAre("the node cannot be read, so nothing is published"));
  node.read_error.reset();
  tick();
  EXPECT_TRUE(keeper.is_published());
}

TEST_F(NodeMarksTest, AFailureToMakeASliceIsWritten) {
  tick();
  troubles.set(std::make_shared<agent_service::SliceTroubles>(agent_service::SliceTroubles{
      .all = {}, .failed = {{"GPU-m", "1g.5gb", 4, "u-a", "the driver refused it"}}}));
  tick();
  EXPECT_THAT(node.marks.inventory.value_or(""), ::testing::HasSubstr("migFailures"));
}

TEST_F(NodeMarksTest, AnotherReportIsWritten) {
  tick();
  auto changed = std::make_shared<agent_service::NodeKnowledge>(*book.get());
  changed->devices.gpus.pop_back();
  book.set(std::move(changed));
  tick();
  EXPECT_EQ(node.writes, 2);
  tick();
  EXPECT_EQ(node.writes, 2);
}

}  // namespace
}  // namespace snug::node_marks_test
