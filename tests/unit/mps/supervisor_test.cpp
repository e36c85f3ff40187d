// What snug-mps does for the daemons that are wanted, with fakes of processes and folders.
#include "snug/mps_service/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"
#include "support/fake_ports.hpp"
#include "unit/mps/fake_daemons.hpp"

namespace snug::supervisor_test {
namespace {

namespace limits = base::agent_limits;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kFirst = "GPU-1";
const std::string kSecond = "GPU-2";
const std::string kFirstPipes = "/mps/GPU-1/pipe";

class SupervisorTest : public ::testing::Test {
 protected:
  /// Ticks as snug-mps does, for this time.
  void run(std::int64_t ms) {
    for (std::int64_t passed = 0; passed <= ms; passed += 50) {
      supervisor.tick(now);
      now += milliseconds(50);
    }
  }
  /// A first tick sees what is wanted and starts it; a second sees the answer.
  void start(FakeDaemonFolders::Uuids uuids) {
    folders.want(std::move(uuids));
    run(limits::mps_poll_ms);
  }

  base::TimePoint now{};
  FakeDaemonProcesses processes;
  FakeDaemonFolders folders;
  FakeMpsMetrics metrics;
  FakeLog log;
  mps_service::Supervisor supervisor{{processes, folders, metrics, log}, mps::Protocol::k2};
};

TEST_F(SupervisorTest, AWantedDaemonRunsBelowTheDriversRootForItsGpuAlone) {
  start({kFirst});
  ASSERT_EQ(processes.started.size(), 1U);
  const mps_service::Program& daemon = processes.started.front();
  EXPECT_THAT(daemon.arguments, ElementsAre("/usr/bin/control", "-f"));
  EXPECT_EQ(daemon.root, "/host");
  EXPECT_EQ(daemon.output_file, "/mps/GPU-1/log/control.log");
  EXPECT_THAT(daemon.environment,
              ElementsAre(HasSubstr("PATH="), "CUDA_MPS_PIPE_DIRECTORY=/mps/GPU-1/pipe",
                          "CUDA_MPS_LOG_DIRECTORY=/mps/GPU-1/log", "CUDA_VISIBLE_DEVICES=GPU-1"));
  EXPECT_THAT(folders.configurations, IsEmpty());
  EXPECT_THAT(folders.daemon_folders, ElementsAre(kFirst));
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready")));
  EXPECT_THAT(metrics.numbers, ElementsAre(Pair(mps::DaemonPhase::kReady, 1)));
  EXPECT_EQ(metrics.starts, 1);
}

TEST_F(SupervisorTest, ADaemonThatIsNoLongerWantedQuitsAndLeavesNothing) {
  start({kFirst, kSecond});
  folders.want({kSecond});
  run(limits::mps_withdraw_ms);
  EXPECT_THAT(processes.quits, IsEmpty()) << "somebody may be removing the folder";
  run(limits::mps_poll_ms);
  EXPECT_THAT(processes.quits, ElementsAre(kFirstPipes));
  EXPECT_THAT(processes.daemons, ElementsAre(Pair("/mps/GPU-2/pipe", ::testing::_)));
  EXPECT_THAT(folders.states, ElementsAre(Pair(kSecond, "ready")));
  EXPECT_THAT(folders.emptied, ElementsAre(kFirst));
  EXPECT_THAT(folders.kept, IsEmpty());
}

TEST_F(SupervisorTest, NothingIsEndedBeforeItIsKnownWhatIsWanted) {
  folders.known_daemons = {kFirst, kSecond};
  processes.daemons = {{kFirstPipes, 7}};
  processes.running = {7};
  folders.wanted_error = "wanted: cannot be listed";
  supervisor.adopt_daemons(now);
  EXPECT_THAT(processes.adopted, ElementsAre(7));
  run(60'000);
  EXPECT_THAT(processes.quits, IsEmpty());
  EXPECT_EQ(supervisor.why_not_ready(), "wanted: cannot be listed");
  folders.wanted_error.clear();
  run(limits::mps_poll_ms);
  EXPECT_EQ(supervisor.why_not_ready(), "");
  EXPECT_THAT(processes.quits, ElementsAre(kFirstPipes));
  EXPECT_THAT(processes.running, IsEmpty());
  EXPECT_EQ(metrics.starts, 0);
}

TEST_F(SupervisorTest, WhatWasWantedStaysSoWhileTheFolderCannotBeRead) {
  start({kFirst});
  folders.wanted_error = "wanted: cannot be listed";
  run(60'000);
  EXPECT_THAT(processes.quits, IsEmpty());
  EXPECT_THAT(log.take(), Contains("wanted: cannot be listed").Times(1));
}

TEST_F(SupervisorTest, AFileThatIsIgnoredIsSaidOnce) {
  folders.wanted_daemons.problems = {"\"x\" is ignored"};
  run(5'000);
  EXPECT_THAT(log.take(), ElementsAre("\"x\" is ignored"));
}

TEST_F(SupervisorTest, ADaemonThatCannotBeStartedSaysWhyAndIsTriedAgain) {
  folders.program_error = "no driver";
  start({kFirst});
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "failed no driver")));
  folders.program_error.clear();
  run(limits::mps_retry_first_ms);
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready")));
  EXPECT_EQ(metrics.failures, 1);
}

TEST_F(SupervisorTest, AStateIsWrittenAgainSoThatTheAgentSeesThatSnugMpsLives) {
  start({kFirst});
  run(1'000);
  const int before = folders.writes;
  run(3 * limits::mps_state_ms);
  EXPECT_EQ(folders.writes, before + 3);
}

TEST_F(SupervisorTest, ASilentDaemonIsTerminatedAndStartedAnew) {
  start({kFirst});
  const int first = processes.daemons.at(kFirstPipes);
  processes.silent = true;
  run(limits::mps_silence_ms);
  EXPECT_THAT(folders.states.at(kFirst), HasSubstr("failed the MPS daemon has not answered"));
  processes.silent = false;
  run(limits::mps_check_ms);
  EXPECT_THAT(processes.signals, ElementsAre(Pair(first, SIGTERM)));
  EXPECT_EQ(folders.states.at(kFirst), "ready");
  EXPECT_NE(processes.daemons.at(kFirstPipes), first);
}

TEST_F(SupervisorTest, ADaemonIsAskedForTheStatesOfItsServersWhenItHasSome) {
  start({kFirst});
  const std::string question = "get_default_active_thread_percentage\nget_server_list\n";
  EXPECT_THAT(processes.inputs, ElementsAre(question));
  processes.servers = "17\n18\n";
  processes.server_state = "ACTIVE";
  run(limits::mps_check_ms);
  EXPECT_THAT(processes.inputs,
              ElementsAre(question, question, "get_server_status 17\nget_server_status 18\n"));
  EXPECT_EQ(folders.states.at(kFirst), "ready");
}

TEST_F(SupervisorTest, AFaultOfTheServerIsAFailureUntilItEnds) {
  processes.servers = "17\n";
  processes.server_state = "ACTIVE";
  start({kFirst, kSecond});
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready"), Pair(kSecond, "ready")));
  processes.server_state = "FAULT";
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(folders.states.at(kFirst), HasSubstr("failed the MPS server is in the state FAULT"));
  EXPECT_THAT(metrics.numbers, ElementsAre(Pair(mps::DaemonPhase::kFailed, 2)));
  processes.server_state = "ACTIVE";
  run(2 * limits::mps_check_ms);
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready"), Pair(kSecond, "ready")));
  EXPECT_EQ(metrics.starts, 2);
  EXPECT_EQ(metrics.failures, 0);
  EXPECT_THAT(processes.quits, IsEmpty());
}

TEST_F(SupervisorTest, ADaemonWhoseFaultLastsIsStartedAnew) {
  processes.servers = "17\n";
  processes.server_state = "FAULT";
  start({kFirst});
  const int first = processes.daemons.at(kFirstPipes);
  run(limits::mps_fault_ms);
  EXPECT_THAT(processes.quits, ElementsAre(kFirstPipes));
  EXPECT_THAT(folders.states.at(kFirst), HasSubstr("so the MPS daemon is restarted"));
  processes.servers.clear();
  run(limits::mps_retry_first_ms + limits::mps_poll_ms);
  EXPECT_EQ(folders.states.at(kFirst), "ready");
  EXPECT_NE(processes.daemons.at(kFirstPipes), first);
  EXPECT_THAT(processes.signals, IsEmpty());
  EXPECT_EQ(metrics.failures, 1);
}

TEST_F(SupervisorTest, ADaemonThatDoesNotSayTheStateOfItsServerCountsAsBefore) {
  start({kFirst});
  const std::set<int> before = processes.running;
  processes.servers = "17\n";
  processes.servers_silent = true;
  run(2 * limits::mps_silence_ms);
  EXPECT_EQ(folders.states.at(kFirst), "ready");
  EXPECT_EQ(processes.running, before);
}

TEST_F(SupervisorTest,
       AfterTheFoldersWereRemovedTheDaemonsAreStartedAnewThoughTheAgentHasNotAsked) {
  start({kFirst, kSecond});
  const std::set<int> before = processes.running;
  processes.daemons.clear();  // their sockets
  folders.states.clear();
  folders.daemon_folders.clear();
  folders.removed = true;
  folders.want({});
  run(limits::mps_silence_ms + 2 * limits::mps_check_ms);
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready"), Pair(kSecond, "ready")));
  EXPECT_THAT(folders.daemon_folders, ElementsAre(kFirst, kSecond));
  for (const int id : before) EXPECT_FALSE(processes.running.contains(id));
  EXPECT_EQ(processes.running.size(), 2U);
  EXPECT_THAT(processes.quits, IsEmpty());
}

TEST_F(SupervisorTest, NoDaemonEndsWhenTheFilesGoBeforeTheirFolder) {
  start({kFirst, kSecond});
  folders.want({kSecond});
  run(limits::mps_poll_ms);
  folders.want({});
  run(limits::mps_withdraw_ms - limits::mps_poll_ms - 100);
  folders.removed = true;
  run(limits::mps_keep_ms - limits::mps_poll_ms);
  EXPECT_THAT(processes.quits, IsEmpty());
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready"), Pair(kSecond, "ready")));
  run(2 * limits::mps_poll_ms);
  EXPECT_EQ(processes.quits.size(), 2U);
}

TEST_F(SupervisorTest, ADaemonThatIsAskedForAgainAtOnceGoesOn) {
  start({kFirst});
  for (int i = 0; i < 3; ++i) {
    folders.want({});
    run(limits::mps_withdraw_ms - limits::mps_poll_ms);
    folders.want({kFirst});
    run(limits::mps_poll_ms);
  }
  EXPECT_THAT(processes.quits, IsEmpty());
}

TEST_F(SupervisorTest, AfterTheFolderWasRemovedWhatTheAgentDoesNotAskForAgainIsEnded) {
  static_assert(limits::mps_keep_ms > limits::mps_rewrite_ms);
  start({kFirst, kSecond});
  folders.removed = true;
  folders.want({kSecond});
  run(limits::mps_keep_ms - limits::mps_poll_ms);
  EXPECT_EQ(processes.running.size(), 2U);
  run(2 * limits::mps_poll_ms);
  EXPECT_THAT(processes.quits, ElementsAre(kFirstPipes));
  EXPECT_THAT(folders.states, ElementsAre(Pair(kSecond, "ready")));
}

TEST_F(SupervisorTest, FoldersThatCannotBeMadeOrWrittenMakeItNotReadyUntilTheyCan) {
  start({kFirst});
  EXPECT_EQ(supervisor.why_not_ready(), "");
  folders.prepared = base::fail(base::ErrorCode::kUnavailable, "root: cannot be made");
  run(limits::mps_poll_ms);
  EXPECT_EQ(supervisor.why_not_ready(), "root: cannot be made");
  EXPECT_EQ(processes.running.size(), 1U);
  folders.prepared = {};
  folders.writable = false;
  log.take();
  run(2 * limits::mps_state_ms);
  EXPECT_EQ(supervisor.why_not_ready(), "state: cannot be created");
  EXPECT_THAT(log.take(), ElementsAre("state: cannot be created"));
  folders.writable = true;
  folders.states.clear();
  run(50);
  EXPECT_EQ(supervisor.why_not_ready(), "");
  EXPECT_THAT(folders.states, ElementsAre(Pair(kFirst, "ready")));
}

TEST_F(SupervisorTest, AtTheEndAllDaemonsQuit) {
  start({kFirst, kSecond});
  supervisor.stop(now);
  run(limits::mps_poll_ms);
  EXPECT_TRUE(supervisor.is_stopped(now));
  EXPECT_EQ(folders.kept, folders.emptied) << "they start again with another snug-mps";
  EXPECT_THAT(processes.running, IsEmpty());
  EXPECT_THAT(folders.states, IsEmpty());
}

TEST_F(SupervisorTest, ADaemonThatNeverEndsIsGivenUp) {
  start({kFirst});
  processes.stubborn = processes.immortal = true;
  supervisor.stop(now);
  run(limits::mps_quit_ms + limits::mps_terminate_ms + 50);
  EXPECT_THAT(processes.signals,
              ElementsAre(Pair(::testing::_, SIGTERM), Pair(::testing::_, SIGKILL)));
  EXPECT_FALSE(supervisor.is_stopped(now));
  run(limits::mps_kill_ms);
  EXPECT_TRUE(supervisor.is_stopped(now));
}

}  // namespace
}  // namespace snug::supervisor_test
