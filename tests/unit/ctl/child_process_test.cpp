#include "ctl/child_process.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace snug::child_process_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{200};
constexpr milliseconds kLong{60'000};

TEST(ChildProcessTest, AProgramThatEndsInTimeHasItsCodeAndOutput) {
  const auto done = ctl::run_to_end({"sh", "-c", "echo here; exit 3"}, kLong);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->output, "here\n");
  const auto copied = ctl::run_with_input({"cat"}, "text", kLong);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->output, "text");
}

TEST(ChildProcessTest, AProgramThatDoesNotEndInTimeIsKilled) {
  // The second one prints nothing more, and hangs.
  for (const char* script :
       {"sleep 600", "exec >&- 2>&-; sleep 600", "while :; do echo x; sleep 0.01; done"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto done = ctl::run_to_end({"sh", "-c", script}, kShort);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong) << script;
    ASSERT_FALSE(done) << script;
    EXPECT_EQ(done.error().message, "sh did not end within 200 ms, and was killed");
    EXPECT_FALSE(ctl::run_with_input({"sh", "-c", script}, "", kShort)) << script;
  }
}

}  // namespace
}  // namespace snug::child_process_test
