// The book of the containers that run.
#include "snug/agent_service/running_containers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"
#include "support/nri_proto.hpp"

namespace snug::running_containers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunningContainersTest, OfAContainerOnlyWhatIsNeededIsKept) {
  agent::SandboxView sandbox = nri_proto::example_sandbox();
  agent::ContainerView container = nri_proto::example_container();
  sandbox.id = container.sandbox_id;
  const model::StringMap kept = {{"snug.dev/reservation", "{}"},
                                 {"kubernetes.io/config.source", "file"}};
  sandbox.annotations = kept;
  sandbox.annotations.emplace("large", std::string(100'000, 'x'));
  container.env = {"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=" + std::string(2'000, 'x'),
                   "NVIDIA_VISIBLE_DEVICES_OTHER=y"};
  agent_service::RunningContainers running;
  running.listed({sandbox}, {container});
  ASSERT_EQ(running.all().size(), 1U);
  container.env = {container.env[1].substr(0, base::agent_limits::max_kept_variable_bytes)};
  container.mounts.clear();
  container.annotations.clear();
  EXPECT_EQ(running.all()[0]->container, container);
  EXPECT_THAT(running.all()[0]->sandbox->labels, IsEmpty());
  EXPECT_EQ(running.all()[0]->sandbox->annotations, kept);
}

TEST(RunningContainersTest, TheNamesOfSixteenGpusAreKept) {
  std::string variable = "NVIDIA_VISIBLE_DEVICES=GPU-8f2c1f0e-0000-4000-8000-000000000000";
  for (int i = 1; i < 16; ++i) variable += ",GPU-8f2c1f0e-0000-4000-8000-000000000001";
  agent_service::RunningContainers running;
  running.created({.id = "s"}, {.id = "c", .sandbox_id = "s", .env = {variable}});
  EXPECT_THAT(running.all()[0]->container.env, ElementsAre(variable));
}

TEST(RunningContainersTest, WhatEndedOrHasNoSandboxIsLeftOut) {
  using enum agent::ContainerState;
  agent_service::RunningContainers running;
  running.listed({{.id = "s"}}, {{.id = "b", .sandbox_id = "s", .state = kRunning},
                                 {.id = "a", .sandbox_id = "s", .state = kCreated},
                                 {.id = "c", .sandbox_id = "s", .state = kStopped},
                                 {.id = "d", .sandbox_id = "t", .state = kRunning}});
  std::vector<std::string> ids;
  for (const auto& each : running.all()) ids.push_back(each->container.id);
  EXPECT_THAT(ids, ElementsAre("a", "b"));
  EXPECT_EQ(running.all()[0]->sandbox, running.all()[1]->sandbox);
}

TEST(RunningContainersTest, ListsAndEndsAreCounted) {
  agent_service::RunningContainers running;
  EXPECT_EQ(running.lists(), 0U);
  running.listed({{.id = "s"}}, {});
  EXPECT_EQ(running.lists(), 1U);
  running.created({.id = "s"}, {.id = "c", .sandbox_id = "s"});
  EXPECT_EQ(running.all()[0]->container.state, agent::ContainerState::kCreated);
  const auto before = running.ends();
  running.ended("unknown");
  running.sandbox_stopped("unknown");
  EXPECT_EQ(running.ends(), before);
  running.ended("c");
  EXPECT_NE(running.ends(), before);
  EXPECT_FALSE(running.has("c"));
}

}  // namespace
}  // namespace snug::running_containers_test
