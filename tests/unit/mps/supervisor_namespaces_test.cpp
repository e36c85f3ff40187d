// What snug-mps does for the namespaces that are wanted of daemons with the protocol 3, with fakes
// of processes and folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"
#include "snug/mps_service/supervisor.hpp"
#include "support/fake_ports.hpp"
#include "unit/mps/fake_daemons.hpp"

namespace snug::supervisor_namespaces_test {
namespace {

namespace limits = base::agent_limits;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kGpu = "GPU-1";
const std::string kA = "aaaaaaaaaaaa";
const std::string kB = "bbbbbbbbbbbb";
const mps::NamespaceLimits kHalf{{100}, 50};

class SupervisorNamespacesTest : public ::testing::Test {
 protected:
  void run(std::int64_t ms) {
    for (std::int64_t passed = 0; passed <= ms; passed += 50) {
      supervisor.tick(now);
      now += milliseconds(50);
    }
  }
  void want(mps::Namespaces namespaces) {
    folders.wanted_daemons.daemons[kGpu] = std::move(namespaces);
    run(2 * limits::mps_poll_ms + 250);
  }

  base::TimePoint now{};
  FakeDaemonProcesses processes;
  FakeDaemonFolders folders;
  FakeMpsMetrics metrics;
  FakeLog log;
  mps_service::Supervisor supervisor{{processes, folders, metrics, log}, mps::Protocol::k3};
};

TEST_F(SupervisorNamespacesTest, ADaemonStartsWithItsNamespacesAndGetsThoseThatComeLater) {
  processes.namespaces = {kA};  // by the configuration
  want({{kA, kHalf}});
  ASSERT_EQ(processes.started.size(), 1U);
  const mps_service::Program& daemon = processes.started.front();
  EXPECT_THAT(daemon.arguments,
              ElementsAre("/usr/bin/control", "-f", "-p", "3", "-m", "-a", "/mps/GPU-1/mps.toml"));
  EXPECT_THAT(daemon.environment, Not(Contains(HasSubstr("CUDA_VISIBLE_DEVICES"))));
  EXPECT_THAT(folders.configurations.at(kGpu), HasSubstr("[servers.snug.namespaces." + kA + "]"));
  EXPECT_THAT(processes.commands,
              ElementsAre("set " + kA +
                          " --pinned-memory-limit=100M --active-thread-percentage=50"
                          " --server=snug"));
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA);
  processes.commands.clear();
  want({{kA, kHalf}, {kB, std::nullopt}});
  EXPECT_THAT(processes.commands, ElementsAre("create " + kB + " --server=snug"));
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA + "\n" + kB);
  want({{kB, std::nullopt}});
  EXPECT_THAT(processes.namespaces, ElementsAre(kB));
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kB);
  EXPECT_EQ(metrics.starts, 1);
}

TEST_F(SupervisorNamespacesTest, ANamespaceThatCannotBeMadeSaysWhyAndIsTriedAgain) {
  processes.refused = kA;
  want({{kA, kHalf}, {kB, kHalf}});
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA + " exit status 1: no room\n" + kB);
  EXPECT_THAT(log.take(),
              Contains("the namespace " + kA + " cannot be made: exit status 1: no room"));
  processes.refused.clear();
  run(2 * limits::mps_check_ms);
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA + "\n" + kB);
  EXPECT_EQ(metrics.failures, 0);
}

TEST_F(SupervisorNamespacesTest, AFailureIsLoggedOnceUntilItIsAnother) {
  processes.refused = kA;
  want({{kA, kHalf}});
  run(5 * limits::mps_check_ms);
  EXPECT_THAT(log.take(), Contains(HasSubstr("cannot be made")).Times(1));
  processes.refusal = "no server\n";
  run(5 * limits::mps_check_ms);
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("cannot be made: exit status 1: no server")));
  processes.refused.clear();
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("is made"), HasSubstr("is limited")));
}

TEST_F(SupervisorNamespacesTest, ANamespaceWithClientsIsNoWarning) {
  want({{kA, kHalf}});
  processes.refused = kA;
  log.clear();
  want({});
  run(5 * limits::mps_check_ms);
  const FakeLog::Entry kept{service::LogLevel::kInfo,
                            "the namespace " + kA + " cannot be removed: exit status 1: no room"};
  EXPECT_THAT(log.entries(), ElementsAre(kept));
}

TEST_F(SupervisorNamespacesTest, ADaemonThatRefusesManyStepsDoesAnswer) {
  processes.refused = "a";
  processes.looks_needed = 30;  // 1.5 seconds
  mps::Namespaces many;
  for (char i = '0'; i <= '9'; ++i) many.emplace("aaaaaaaaaaa" + std::string(1, i), kHalf);
  folders.wanted_daemons.daemons[kGpu] = many;
  run(3 * limits::mps_silence_ms);
  EXPECT_GE(processes.commands.size(), many.size());
  EXPECT_EQ(metrics.failures, 0);
}

TEST_F(SupervisorNamespacesTest, WhatADaemonThatHasEndedWasToDoIsNoAnswerOfTheNext) {
  want({{kA, kHalf}});
  processes.looks_needed = 36;  // 1.8 seconds
  processes.refused = kB;
  want({{kA, kHalf}, {kB, kHalf}});
  ASSERT_THAT(processes.commands, Contains(HasSubstr("create " + kB)));
  processes.silent = true;
  processes.end(*processes.running.begin(), "signal 9");
  run(limits::mps_retry_first_ms + 3'000);
  EXPECT_EQ(processes.started.size(), 2U);
  EXPECT_EQ(folders.states.at(kGpu), "failed the MPS daemon has ended: signal 9");
}

TEST_F(SupervisorNamespacesTest, WhileItsFileCannotBeReadADaemonKeepsItsNamespaces) {
  want({{kA, kHalf}});
  folders.wanted_daemons.unreadable = {kGpu};
  want({});
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(processes.namespaces, ElementsAre(kA));
  folders.wanted_daemons.unreadable.clear();
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(processes.namespaces, IsEmpty());
}

TEST_F(SupervisorNamespacesTest, AfterTheDaemonHasEndedItsNamespacesAreThereAgain) {
  want({{kA, kHalf}});
  processes.namespaces.clear();
  processes.commands.clear();
  processes.end(*processes.running.begin(), "signal 9");
  run(0);
  EXPECT_EQ(folders.states.at(kGpu), "failed the MPS daemon has ended: signal 9");
  run(limits::mps_retry_first_ms + 500);
  EXPECT_EQ(processes.started.size(), 2U);
  EXPECT_THAT(processes.commands, ElementsAre(HasSubstr("create " + kA), HasSubstr("set " + kA)));
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA);
  processes.commands.clear();
  processes.end(*processes.running.begin(), "signal 9");
  run(2 * limits::mps_retry_first_ms + 500);
  EXPECT_THAT(processes.commands, ElementsAre(HasSubstr("set " + kA)))
      << "the next daemon has it by its configuration";
}

TEST_F(SupervisorNamespacesTest, AQuestionThatIsDueDoesNotEndTheCommandThatRuns) {
  want({});
  processes.looks_needed = 30;  // 1.5 seconds
  mps::Namespaces& wanted = folders.wanted_daemons.daemons[kGpu];
  for (int i = 0; i < 12; ++i) {  // each at another time after the last question
    wanted.emplace(mps::namespace_of(std::to_string(i), ""), kHalf);
    run(3 * limits::mps_check_ms + i * 250);
  }
  EXPECT_EQ(processes.commands.size(), 24U) << "each is made and limited once";
  EXPECT_EQ(processes.abandoned, 0U);
  EXPECT_EQ(metrics.failures, 0);
}

TEST_F(SupervisorNamespacesTest, AnAdoptedDaemonKeepsItsNamespacesAndGetsTheirLimitsAgain) {
  folders.known_daemons = {kGpu};
  processes.daemons = {{"/mps/GPU-1/pipe", 7}};
  processes.running = {7};
  processes.namespaces = {kA, kB};
  folders.wanted_daemons.daemons[kGpu] = {{kA, kHalf}};
  supervisor.adopt_daemons(now);
  run(1'000);
  EXPECT_THAT(processes.started, IsEmpty());
  EXPECT_THAT(processes.commands, ElementsAre(HasSubstr("set " + kA), HasSubstr("delete " + kB)));
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA);
}

TEST_F(SupervisorNamespacesTest, AFaultOfTheServerIsAFailureUntilItEnds) {
  want({{kA, kHalf}});
  processes.server_state = "Fault";
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(folders.states.at(kGpu), HasSubstr("failed the MPS server is in the state FAULT"));
  processes.commands.clear();
  want({{kA, kHalf}, {kB, kHalf}});
  EXPECT_THAT(processes.commands, IsEmpty());
  processes.server_state = "Ready";
  run(2 * limits::mps_check_ms);
  EXPECT_EQ(folders.states.at(kGpu), "ready\nprotocol 3\n" + kA + "\n" + kB);
  EXPECT_EQ(metrics.starts, 1);
}

TEST_F(SupervisorNamespacesTest, ADaemonThatNeverAnswersSaysWhichDriverItNeeds) {
  processes.silent = true;
  want({{kA, kHalf}});
  run(limits::mps_start_ms);
  EXPECT_EQ(folders.states.at(kGpu),
            "failed the MPS daemon has not answered for 30 seconds; see its log; --protocol=3 of "
            "snug-mps needs "
            "the driver 615 or later");
  EXPECT_THAT(processes.commands, IsEmpty());
}

TEST_F(SupervisorNamespacesTest, ManyNamespacesDoNotKeepADaemonFromItsQuestions) {
  mps::Namespaces many;
  for (int i = 0; i < limits::max_mps_namespaces; ++i)
    many.emplace(mps::namespace_of(std::to_string(i), ""), kHalf);
  folders.wanted_daemons.daemons[kGpu] = many;
  run(3 * limits::mps_silence_ms);
  EXPECT_EQ(processes.namespaces.size(), many.size());
  EXPECT_EQ(metrics.failures, 0);
}

}  // namespace
}  // namespace snug::supervisor_namespaces_test
