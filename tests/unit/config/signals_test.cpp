// The signals of a program, in this thread.
#include "snug/config/signals.hpp"

#include <gtest/gtest.h>

namespace snug::signals_test {
namespace {

/// Restores what the tests change.
class SignalsTest : public ::testing::Test {
 protected:
  SignalsTest() {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    sigaction(SIGPIPE, nullptr, &pipe_action_);
  }
  ~SignalsTest() override {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    sigaction(SIGPIPE, &pipe_action_, nullptr);
  }
  static bool is_blocked(int number) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, number) == 1;
  }

 private:
  sigset_t mask_{};
  struct sigaction pipe_action_{};
};

TEST_F(SignalsTest, TheseAreBlockedUntilTheProgramWaitsForThem) {
  const sigset_t signals = config::block_signals({SIGUSR1, SIGUSR2});
  EXPECT_TRUE(is_blocked(SIGUSR1));
  EXPECT_TRUE(is_blocked(SIGUSR2));
  EXPECT_FALSE(is_blocked(SIGHUP));
  EXPECT_EQ(sigismember(&signals, SIGHUP), 0);
  ASSERT_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
  int arrived = 0;
  EXPECT_EQ(sigwait(&signals, &arrived), 0);
  EXPECT_EQ(arrived, SIGUSR2);
}

TEST_F(SignalsTest, AClientThatIsGoneEndsNoProgram) {
  std::signal(SIGPIPE, SIG_DFL);
  (void)config::block_signals({});
  struct sigaction action{};
  sigaction(SIGPIPE, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace snug::signals_test
