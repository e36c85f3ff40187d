// The state machine of one daemon: row by row, and with a random daemon that may do anything.
#include "snug/mps/daemon_keeper.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <vector>

#include "snug/base/agent_limits.hpp"

namespace snug::mps {
namespace {

namespace limits = base::agent_limits;
using std::chrono::milliseconds;

/// Plays a script of one line for each moment and compares what the keeper does. A line is
/// `MS EVENT`: the milliseconds since the line before, and one of: start, fail (the start failed),
/// end, yes, fault, answers and no (an answer), wanted, unwanted, look.
class Script {
 public:
  /// The actions after each line, as `ask terminate`, with the phase after a slash.
  std::vector<std::string> play(const std::string& script) {
    std::vector<std::string> results;
    std::istringstream lines(script);
    std::string event;
    for (std::int64_t ms = 0; lines >> ms >> event;) {
      now_ += milliseconds(ms);
      apply(event);
      const std::string actions = act();
      results.push_back(actions + "/" + std::string(kDaemonPhaseNames[keeper_.state().phase]));
    }
    return results;
  }

  [[nodiscard]] const DaemonKeeper& keeper() const { return keeper_; }

 private:
  void apply(const std::string& event) {
    if (event == "start") keeper_.started(now_);
    if (event == "fail") keeper_.start_failed(now_, "no such program");
    if (event == "end") keeper_.ended(now_, "exit status 1");
    if (event == "yes") keeper_.answered(now_, DaemonHealth::kHealthy);
    if (event == "fault") keeper_.answered(now_, DaemonHealth::kFaulty);
    if (event == "answers") keeper_.answered(now_, DaemonHealth::kAnswers);
    if (event == "no") keeper_.answered(now_, DaemonHealth::kSilent);
    if (event == "wanted") wanted_ = true;
    if (event == "unwanted") wanted_ = false;
  }

  /// A start and a removal are left to the script, so that they come once.
  std::string act() {
    std::string actions;
    for (DaemonAction action; (action = keeper_.next(now_, wanted_)) != DaemonAction::kNone;) {
      actions += (actions.empty() ? "" : " ") + std::string(kDaemonActionNames[action]);
      if (action == DaemonAction::kStart || action == DaemonAction::kForget) break;
    }
    return actions;
  }

  DaemonKeeper keeper_;
  base::TimePoint now_{};
  bool wanted_ = false;
};

using Results = std::vector<std::string>;

TEST(DaemonKeeperTest, AWantedDaemonIsStartedAskedAndReadyWhenItAnswers) {
  EXPECT_EQ(Script().play("0 look 0 wanted 0 start 50 no 199 look 1 look 0 yes 2999 look 1 look"),
            (Results{"forget/starting", "start/starting", "ask/starting", "/starting", "/starting",
                     "ask/starting", "/ready", "/ready", "ask/ready"}));
}

TEST(DaemonKeeperTest, AnUnwantedDaemonIsAskedToQuitThenTerminatedThenKilled) {
  Script script;
  script.play("0 wanted 0 start 0 yes");
  EXPECT_EQ(script.play("0 unwanted 7999 look 1 look 2999 look 1 look 4999 look 1 look 0 end"),
            (Results{"quit/starting", "/starting", "terminate/starting", "/starting",
                     "kill/starting", "/starting", "kill/failed", "forget/failed"}));
}

TEST(DaemonKeeperTest, OneThatIsWantedAgainWhileItQuitsIsStartedAtOnceWhenItHasEnded) {
  Script script;
  script.play("0 wanted 0 start 0 yes 0 unwanted");
  EXPECT_EQ(script.play("100 wanted 0 yes 10 end"),
            (Results{"/starting", "/starting", "start/starting"}));
}

TEST(DaemonKeeperTest, OneThatEndsUnaskedHasFailedAndWaitsTwiceAsLongEachTime) {
  Script script;
  script.play("0 wanted 0 start 0 yes");
  EXPECT_EQ(
      script.play("5 end 999 look 1 look 0 start 0 end 1999 look 1 look 0 fail 3999 look 1 look"),
      (Results{"/failed", "/failed", "start/failed", "ask/failed", "/failed", "/failed",
               "start/failed", "/failed", "/failed", "start/failed"}));
  EXPECT_EQ(script.keeper().state().reason, "no such program");
  EXPECT_EQ(script.keeper().failures(), 3);
}

TEST(DaemonKeeperTest, TheWaitHasALimitAndAStableDaemonBeginsAnew) {
  Script script;
  script.play("0 wanted");
  std::int64_t wait = limits::mps_retry_first_ms;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(script.play("0 fail " + std::to_string(wait - 1) + " look 1 look"),
              (Results{"/failed", "/failed", "start/failed"}));
    wait = std::min(2 * wait, limits::mps_retry_last_ms);
  }
  EXPECT_EQ(script.play("0 start 0 yes 1000 end 59999 look 1 look").back(), "start/failed");
  script.play("0 start 0 yes");
  for (int i = 0; i < 20; ++i) script.play("3000 yes");
  EXPECT_EQ(script.play("0 end 1000 look"), (Results{"/failed", "start/failed"}));
}

TEST(DaemonKeeperTest, OneThatNoLongerAnswersIsTerminatedKilledAndStartedAnew) {
  Script script;
  script.play("0 wanted 0 start 0 yes");
  EXPECT_EQ(script.play("3000 look 2000 no 3000 look 1999 no 1 look 3000 look 1 end 1000 look"),
            (Results{"ask/ready", "/ready", "ask/ready", "/ready", "terminate/failed",
                     "kill/failed", "/failed", "start/failed"}));
  EXPECT_EQ(script.keeper().state().reason, "the MPS daemon has not answered for 10 seconds");
}

TEST(DaemonKeeperTest, OneThatNeverAnswersIsStartedAnew) {
  Script script;
  script.play("0 wanted 0 start");
  EXPECT_EQ(script.play("29999 no 1 look 1 unwanted 2 end"),
            (Results{"/starting", "terminate/failed", "/failed", "forget/failed"}));
}

TEST(DaemonKeeperTest, AnAnswerThatComesWhileItEndsChangesNothing) {
  Script script;
  script.play("0 wanted 0 start 0 yes 0 unwanted");
  EXPECT_EQ(script.play("10 yes 0 no"), (Results{"/starting", "/starting"}));
}

TEST(DaemonKeeperTest, OneWithAFaultHasFailedUntilTheFaultEndsAndIsNotStartedAnew) {
  Script script;
  script.play("0 wanted 0 start 0 yes");
  EXPECT_EQ(script.play("3000 look 0 fault"), (Results{"ask/ready", "/failed"}));
  EXPECT_EQ(script.keeper().state().reason,
            "the MPS server is in the state FAULT after an error of a client; it takes new clients "
            "when all of its clients have ended");
  EXPECT_EQ(script.play("2999 look 1 look 0 fault 3000 look 0 no 3000 look 0 yes 3000 look"),
            (Results{"/failed", "ask/failed", "/failed", "ask/failed", "/failed", "ask/failed",
                     "/ready", "ask/ready"}));
  EXPECT_EQ(script.keeper().state().reason, "");
  EXPECT_EQ(script.keeper().failures(), 0) << "of a client, and not of the daemon";
}

TEST(DaemonKeeperTest, OneWhoseFaultLastsTooLongIsAskedToQuitAndStartedAnew) {
  Script script;
  script.play("0 wanted 0 start 0 fault");
  for (int i = 0; i < 19; ++i) script.play("3000 fault");
  EXPECT_EQ(script.play("2999 fault 1 look"), (Results{"/failed", "quit/failed"}));
  EXPECT_EQ(script.keeper().state().reason,
            "the MPS server was in the state FAULT for 60 seconds after an error of a client, so "
            "the MPS daemon is restarted");
  EXPECT_EQ(script.play("0 yes 8000 look 3000 look 0 end 999 look 1 look 0 start 0 yes"),
            (Results{"/failed", "terminate/failed", "kill/failed", "/failed", "/failed",
                     "start/failed", "ask/failed", "/ready"}));
  EXPECT_EQ(script.keeper().failures(), 1);
}

TEST(DaemonKeeperTest, TheNextFaultHasAllItsTime) {
  Script script;
  script.play("0 wanted 0 start 0 fault 9000 yes 9000 fault");
  for (int i = 0; i < 6; ++i) script.play("9000 fault");
  EXPECT_EQ(script.play("5999 look 1 look").back(), "quit/failed");
  script.play("0 end 1000 start 0 fault");
  EXPECT_EQ(script.play("9000 fault"), (Results{"/failed"})) << "after a restart too";
}

TEST(DaemonKeeperTest, AnAnswerThatDoesNotTellOfFaultsNeitherEndsNorBeginsOne) {
  Script script;
  EXPECT_EQ(script.play("0 wanted 0 start 0 answers"),
            (Results{"start/starting", "ask/starting", "/ready"}));
  EXPECT_EQ(script.play("3000 fault 3000 answers 0 yes"),
            (Results{"/failed", "/failed", "/ready"}));
}

TEST(DaemonKeeperTest, TimeWithAFaultIsNotStable) {
  Script script;
  std::int64_t wait = limits::mps_retry_first_ms;
  script.play("0 wanted");
  for (int restarts = 0; restarts < 3; ++restarts, wait *= 2) {
    script.play("0 start 0 yes 3000 fault");
    for (int i = 0; i < 20; ++i) script.play("3000 fault");
    EXPECT_EQ(script.play("0 end " + std::to_string(wait - 1) + " look 1 look"),
              (Results{"/failed", "/failed", "start/failed"}));
  }
}

TEST(DaemonKeeperTest, OneWithAFaultThatIsNoLongerWantedQuits) {
  Script script;
  script.play("0 wanted 0 start 0 yes 3000 fault");
  EXPECT_EQ(script.play("0 unwanted 10 end"), (Results{"quit/starting", "forget/starting"}));
}

/// A daemon that dies, hangs, has faults and ignores at random, and an agent that changes its mind.
/// The keeper must never start a second process, must end what is not wanted, and must call it
/// ready only while there is a process that has answered not long ago.
class RandomDaemon {
 public:
  explicit RandomDaemon(std::uint64_t seed) : random_(seed) {}

  void run(int moments) {
    for (int i = 0; i < moments; ++i) {
      now_ += milliseconds(chance(10) ? 2'500 : 50);
      if (chance(200)) wanted_ = !wanted_;
      if (has_process_ && chance(300)) end();
      if (chance(300)) hangs_ = !hangs_;
      if (chance(300)) is_faulty_ = !is_faulty_;
      if (asked_ && (!hangs_ || chance(40))) answer();
      act();
      check();
      if (::testing::Test::HasFailure()) return;
    }
    settle();
  }

 private:
  bool chance(int one_in) { return random_() % static_cast<std::uint64_t>(one_in) == 0; }

  void answer() {
    asked_ = false;
    if (hangs_ || !has_process_) return keeper_.answered(now_, DaemonHealth::kSilent);
    answered_at_ = now_;
    said_faulty_ = is_faulty_;
    keeper_.answered(now_, is_faulty_ ? DaemonHealth::kFaulty : DaemonHealth::kHealthy);
  }

  void end() {
    has_process_ = asked_ = said_faulty_ = false;
    keeper_.ended(now_, "signal 9");
  }

  void act() {
    for (int actions = 0;; ++actions) {
      ASSERT_LT(actions, 5) << "it does not come to rest";
      switch (keeper_.next(now_, wanted_)) {
        case DaemonAction::kNone:
          return;
        case DaemonAction::kForget:
          ASSERT_FALSE(has_process_ || wanted_);
          return;
        case DaemonAction::kStart:
          ASSERT_FALSE(has_process_) << "a second process";
          ASSERT_TRUE(wanted_);
          has_process_ = is_well_ || !chance(5);
          answered_at_ = now_;
          has_process_ ? keeper_.started(now_) : keeper_.start_failed(now_, "refused");
          break;
        case DaemonAction::kAsk:
          ASSERT_TRUE(has_process_ && !asked_);
          asked_ = true;
          break;
        case DaemonAction::kQuit:
          asked_ = false;
          [[fallthrough]];
        case DaemonAction::kTerminate:
          ASSERT_TRUE(has_process_);
          if (!hangs_ && chance(2)) end();
          break;
        case DaemonAction::kKill:
          ASSERT_TRUE(has_process_);
          end();
          break;
      }
    }
  }

  void check() {
    ASSERT_EQ(keeper_.has_process(), has_process_);
    if (keeper_.state().phase != DaemonPhase::kReady) return;
    ASSERT_TRUE(has_process_ && wanted_ && !said_faulty_);
    ASSERT_LE(now_ - answered_at_, milliseconds(limits::mps_silence_ms));
  }

  /// From now on the daemon is well: it comes to be ready, and to be gone when it is not wanted.
  void settle() {
    hangs_ = is_faulty_ = false;
    is_well_ = true;
    for (const bool wanted : {true, false}) {
      wanted_ = wanted;
      for (int i = 0; i < 4'000; ++i) {
        now_ += milliseconds(50);
        if (asked_) answer();
        act();
      }
      ASSERT_EQ(has_process_, wanted);
      if (!wanted) break;
      ASSERT_EQ(keeper_.state().phase, DaemonPhase::kReady);
    }
  }

  std::mt19937_64 random_;
  DaemonKeeper keeper_;
  base::TimePoint now_{};
  base::TimePoint answered_at_{};
  bool wanted_ = false;
  bool has_process_ = false;
  bool asked_ = false;
  bool hangs_ = false;
  bool is_faulty_ = false;
  bool said_faulty_ = false;  // its last answer
  bool is_well_ = false;      // it starts whenever it is started
};

TEST(DaemonKeeperTest, WhateverADaemonDoesThereIsOneAndReadyMeansThatItAnswers) {
  const std::uint64_t first = std::random_device()();
  for (std::uint64_t seed = first; seed < first + 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomDaemon(seed).run(20'000);
  }
}

}  // namespace
}  // namespace snug::mps
