#include "ctl/verify_text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace snug::verify_text_test {
namespace {

using verify::Check;
using verify::CheckVerdict;

TEST(VerifyTextTest, ARowForEachCheckAndTheirSum) {
  const std::vector<Check> checks{{"heartbeat", "alive", "alive", CheckVerdict::kOk},
                                  {"limits", "-", "none", CheckVerdict::kNotEnforced},
                                  {"share", "no GPU", "nvidia0 \x1b[2J", CheckVerdict::kFailed}};
  EXPECT_EQ(ctl::verify_text("n1", checks, {}),
            "VERDICT       CHECK      EXPECTED  SEEN\n"
            "ok            heartbeat  alive     alive\n"
            "not enforced  limits     -         none\n"
            "FAILED        share      no GPU    nvidia0 ?[2J\n"
            "n1: 1 ok, 1 failed, 1 not enforced\n");
}

TEST(VerifyTextTest, TheExitCodeIsThatOfTheWorstRow) {
  struct Row {
    std::vector<CheckVerdict> verdicts;
    int code;
  };
  using enum CheckVerdict;
  const Row rows[] = {
      {{}, 0}, {{kOk, kNotEnforced}, 0}, {{kOk, kNotChecked}, 3}, {{kNotChecked, kFailed, kOk}, 1}};
  for (const Row& row : rows) {
    std::vector<Check> checks;
    for (const CheckVerdict verdict : row.verdicts) checks.push_back({.verdict = verdict});
    EXPECT_EQ(ctl::verify_exit_code(checks), row.code);
  }
}

}  // namespace
}  // namespace snug::verify_text_test
