#include "snug/service/placement_log.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "snug/base/limits.hpp"

namespace snug::placement_log_test {
namespace {

service::DecisionNote note_for(const std::string& winner) {
  return {.snapshot = std::make_shared<const model::Snapshot>(), .winner = winner, .runner_up = ""};
}

TEST(PlacementLogTest, ADecisionIsTakenOnce) {
  service::PlacementLog log;
  log.note_decision("a", note_for("n1"));
  log.note_decision("a", note_for("n2"));
  const auto taken = log.take_decision("a");
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->winner, "n2");
  EXPECT_FALSE(log.take_decision("a").has_value());
  EXPECT_FALSE(log.take_decision("b").has_value());
}

TEST(PlacementLogTest, TheOldestNotesAreDropped) {
  service::PlacementLog log;
  log.note_decision("a", note_for("n1"));
  EXPECT_TRUE(log.take_decision("a").has_value());
  for (std::size_t i = 1; i < base::kMaxDecisionNotes; ++i)
    log.note_decision("pod-" + std::to_string(i), note_for("n1"));
  log.note_decision("a", note_for("n2"));
  EXPECT_TRUE(log.take_decision("a").has_value()) << "a taken note does not make the next one old";
  EXPECT_TRUE(log.take_decision("pod-1").has_value()) << "no more than the limit";
  for (std::size_t i = 0; i < base::kMaxDecisionNotes; ++i)
    log.note_decision("more-" + std::to_string(i), note_for("n1"));
  EXPECT_FALSE(log.take_decision("pod-2").has_value());
  EXPECT_TRUE(log.take_decision("more-0").has_value());
}

}  // namespace
}  // namespace snug::placement_log_test
