#include "snug/service/placement_log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
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

TEST(PlacementLogTest, ARenewedNoteIsTheNewest) {
  service::PlacementLog log;
  for (std::size_t i = 0; i < base::kMaxDecisionNotes; ++i)
    log.note_decision("pod-" + std::to_string(i), note_for("n1"));
  log.note_decision("pod-0", note_for("n2"));
  log.note_decision("more", note_for("n1"));
  const auto renewed = log.take_decision("pod-0");
  ASSERT_TRUE(renewed.has_value());
  EXPECT_EQ(renewed->winner, "n2");
  EXPECT_FALSE(log.take_decision("pod-1").has_value()) << "the oldest is dropped";
  EXPECT_TRUE(log.take_decision("pod-2").has_value()) << "only one is dropped";
  EXPECT_TRUE(log.take_decision("more").has_value());
}

TEST(PlacementLogTest, WhatWasOfferedIsKnownUntilTheNextDecision) {
  service::PlacementLog log;
  EXPECT_EQ(log.offered_to("a"), std::nullopt);
  log.note_refusal("a", nullptr);
  EXPECT_EQ(log.offered_to("a"), service::OfferedNodesPtr());
  log.note_decision("a", note_for("n1"));
  EXPECT_EQ(log.offered_to("a"), std::nullopt);
}

TEST(PlacementLogTest, EqualOffersAreKeptOnceAndTheOldestAreDropped) {
  model::Snapshot snapshot;
  auto names = std::make_shared<model::NameIndex>();
  names->emplace("n1", base::NodeIndex{0});
  snapshot.names = std::move(names);
  service::PlacementLog log;
  for (std::size_t i = 0; i <= base::kMaxOfferRecords; ++i)
    log.note_refusal("pod-" + std::to_string(i), service::OfferedNodes::make(snapshot, {}));
  EXPECT_EQ(log.offered_to("pod-0"), std::nullopt);
  const auto offered = log.offered_to("pod-1");
  ASSERT_TRUE(offered.has_value());
  EXPECT_NE(*offered, nullptr);
  EXPECT_EQ(offered, log.offered_to("pod-2"));
}

TEST(PlacementLogTest, ADroppedSnapshotIsDestroyedWhenOthersCanUseTheLog) {
  struct Row {
    std::string dropped_by;
    std::size_t further_notes;
  };
  for (const Row& row : {Row{"its successor", 0}, Row{"newer notes", base::kMaxDecisionNotes}}) {
    service::PlacementLog log;
    std::future<bool> other_user;
    auto was_usable = std::future_status::deferred;
    const auto destroy = [&](const model::Snapshot* snapshot) {
      const std::unique_ptr<const model::Snapshot> owner(snapshot);
      other_user = std::async(std::launch::async,
                              [&log] { return log.take_decision("unknown").has_value(); });
      was_usable = other_user.wait_for(std::chrono::seconds(30));  // only a failure takes so long
    };
    service::DecisionNote note = note_for("n1");
    note.snapshot = model::SnapshotPtr(new model::Snapshot, destroy);
    log.note_decision("a", std::move(note));
    for (std::size_t i = 0; i < row.further_notes; ++i)
      log.note_decision("pod-" + std::to_string(i), note_for("n1"));
    if (row.further_notes == 0) log.note_decision("a", note_for("n2"));
    EXPECT_EQ(was_usable, std::future_status::ready) << "dropped by " << row.dropped_by;
  }
}

}  // namespace
}  // namespace snug::placement_log_test
