// The rows say what is there and what is done; the time is in days since 2026-01-01.
#include "snug/admission/certificate_rotation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace snug::certificate_rotation_test {
namespace {

using admission::RotationStep;
using std::chrono::days;
using std::chrono::milliseconds;

constexpr admission::RotationTimes kTimes{.renew_before = days{120}, .overlap = milliseconds{300}};

constexpr admission::WallTime day(int number) {
  using namespace std::chrono;
  return sys_days{year{2026} / January / 1} + days{number};
}

constexpr admission::Validity valid(int from, int until) { return {day(from), day(until)}; }

struct Row {
  const char* what;
  admission::RotationState state;
  int now;
  RotationStep step;
};

const Row kRows[] = {
    {"nothing is there", {}, 0, RotationStep::kCreate},
    {"a fresh certificate", {.serving = valid(0, 365)}, 1, RotationStep::kNone},
    {"the day before it is due", {.serving = valid(0, 365)}, 244, RotationStep::kNone},
    {"it is due", {.serving = valid(0, 365)}, 245, RotationStep::kPrepare},
    {"it has expired", {.serving = valid(0, 365)}, 365, RotationStep::kCreate},
    {"not valid yet", {.serving = valid(10, 375)}, 9, RotationStep::kCreate},
    {"the next one is not trusted yet",
     {.serving = valid(0, 365), .next = valid(245, 610)},
     245,
     RotationStep::kNone},
    {"the next one has just become trusted",
     {.serving = valid(0, 365), .next = valid(245, 610), .trusted_for = milliseconds{299}},
     245,
     RotationStep::kNone},
    {"the next one is trusted for long enough",
     {.serving = valid(0, 365), .next = valid(245, 610), .trusted_for = milliseconds{300}},
     245,
     RotationStep::kSwitch},
    {"the last one expires before the next one is trusted",
     {.serving = valid(0, 365), .next = valid(245, 610)},
     365,
     RotationStep::kSwitch},
    {"the next one alone can be used", {.next = valid(0, 365)}, 1, RotationStep::kSwitch},
    {"both have expired",
     {.serving = valid(0, 10), .next = valid(0, 20)},
     30,
     RotationStep::kCreate},
    {"the next one is over, the last one is due",
     {.serving = valid(0, 365), .next = valid(0, 20)},
     300,
     RotationStep::kPrepare},
    {"the old authority is still needed",
     {.serving = valid(0, 365), .has_old_authority = true, .trusted_for = milliseconds{299}},
     1,
     RotationStep::kNone},
    {"the old authority is not needed any more",
     {.serving = valid(0, 365), .has_old_authority = true, .trusted_for = milliseconds{300}},
     1,
     RotationStep::kDropOld},
    {"nobody trusts anything, so nothing is dropped",
     {.serving = valid(0, 365), .has_old_authority = true},
     1,
     RotationStep::kNone},
    {"the old authority is dropped before the next certificate is made",
     {.serving = valid(0, 365), .has_old_authority = true, .trusted_for = milliseconds{300}},
     300,
     RotationStep::kDropOld},
};

TEST(CertificateRotation, TakesTheStepThatIsDue) {
  for (const Row& row : kRows) {
    EXPECT_EQ(admission::rotation_step(row.state, day(row.now), kTimes), row.step) << row.what;
  }
}

admission::ServerIdentity identity(const std::string& name) {
  return {.authority = name + "-ca ", .certificate = name, .key = name + "-key"};
}

TEST(CertificateRotation, TrustsEachCertificateBeforeAndAfterItsUse) {
  using admission::after_step;
  auto shared = after_step(RotationStep::kCreate, {}, identity("a"));
  EXPECT_EQ(shared.authorities(), "a-ca ");
  shared = after_step(RotationStep::kPrepare, shared, identity("b"));
  EXPECT_EQ(shared.serving, identity("a"));
  EXPECT_EQ(shared.authorities(), "a-ca b-ca ");
  shared = after_step(RotationStep::kSwitch, shared, {});
  EXPECT_EQ(shared.serving, identity("b"));
  EXPECT_EQ(shared.next, admission::ServerIdentity{});
  EXPECT_EQ(shared.authorities(), "b-ca a-ca ");
  EXPECT_EQ(after_step(RotationStep::kNone, shared, {}), shared);
  shared = after_step(RotationStep::kDropOld, shared, {});
  EXPECT_EQ(shared.authorities(), "b-ca ");
  EXPECT_EQ(after_step(RotationStep::kCreate, shared, identity("c")).authorities(), "c-ca ");
}

}  // namespace
}  // namespace snug::certificate_rotation_test
