#include "snug/agent/waiting_pods.hpp"

#include <gtest/gtest.h>

#include <string>

namespace snug::waiting_pods_test {
namespace {

agent::PodView waiting_pod(const std::string& reason, const std::string& message) {
  return {.uid = "u",
          .containers = {{.name = "sidecar"},
                         {.name = "main", .waiting_reason = reason, .waiting_message = message}}};
}

TEST(WaitingPodsTest, APodWaitsForTheAgentIfItOrItsAbsenceIsWhyAContainerIsNotCreated) {
  struct Row {
    std::string reason;
    std::string message;
    bool waits;
  };
  const std::string refusal =
      "failed to create containerd container: rpc error: code = Unknown desc = snug: GPU 0 is lost";
  const std::string absence = R"(validator "default" rejected: required plugin "snug" not present)";
  const Row rows[] = {
      {"CreateContainerError", refusal, true},
      {"CreateContainerError", "snug: GPU 0 is lost", true},
      {"CreateContainerError", absence, true},
      {"RunContainerError", refusal, true},
      {"RunContainerError", absence, false},
      {"CrashLoopBackOff", refusal, false},
      {"CreateContainerConfigError", refusal, false},
      {"ContainerCreating", "", false},
      {"", "", false},
      {"CreateContainerError", "image registry.example/snug:1.2 is not there", false},
      {"CreateContainerError", "no space left on device", false},
      {"CreateContainerError", R"(required plugin "snug-probe" not present)", false},
      {"CreateContainerError", R"(required plugin "other" not present)", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(agent::waits_for_agent(waiting_pod(row.reason, row.message)), row.waits)
        << row.reason << ": " << row.message;
  }
}

TEST(WaitingPodsTest, APodThatEndsWaitsForNothing) {
  agent::PodView pod = waiting_pod("CreateContainerError", "snug: no");
  ASSERT_TRUE(agent::waits_for_agent(pod));
  pod.terminating = true;
  EXPECT_FALSE(agent::waits_for_agent(pod));
  EXPECT_FALSE(agent::waits_for_agent({}));
}

}  // namespace
}  // namespace snug::waiting_pods_test
