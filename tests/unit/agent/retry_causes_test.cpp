#include "snug/agent_service/retry_causes.hpp"

#include <gtest/gtest.h>

#include "unit/agent/gpu_node.hpp"

namespace snug::retry_causes_test {
namespace {

using agent_service::NodeKnowledge;

std::shared_ptr<const NodeKnowledge> report(std::size_t gpus) {
  NodeKnowledge knowledge{agent::testing::three_gpus(), agent::testing::driver_files()};
  knowledge.devices.gpus.resize(gpus);
  return std::make_shared<const NodeKnowledge>(std::move(knowledge));
}

TEST(RetryCausesTest, ThereIsOneWhenTheAgentBeginsToAnswerAndWhenTheDevicesChange) {
  agent_service::RetryCauses causes;
  EXPECT_FALSE(causes.have_come(false, report(2)));
  EXPECT_TRUE(causes.have_come(true, report(2)));
  EXPECT_FALSE(causes.have_come(true, report(2))) << "another report that says the same";
  EXPECT_TRUE(causes.have_come(true, report(3)));
  EXPECT_FALSE(causes.have_come(true, report(3)));
}

TEST(RetryCausesTest, AConnectionThatIsLostAndBackIsOneEvenIfNothingElseChanges) {
  agent_service::RetryCauses causes;
  EXPECT_TRUE(causes.have_come(true, report(2)));
  EXPECT_FALSE(causes.have_come(false, report(2)));
  EXPECT_FALSE(causes.have_come(false, report(3))) << "nothing can be given yet";
  EXPECT_TRUE(causes.have_come(true, report(3)));
}

}  // namespace
}  // namespace snug::retry_causes_test
