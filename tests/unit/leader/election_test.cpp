#include "snug/leader/election.hpp"

#include <gtest/gtest.h>

namespace snug::election_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::TimePoint kStart{seconds(100)};

base::TimePoint at(milliseconds after) { return kStart + after; }

leader::ElectionSettings settings(std::string identity = "a_1") {
  return {.identity = std::move(identity),
          .lease_duration = seconds(15),
          .renew_deadline = seconds(10),
          .write_window = milliseconds(1500),
          .orphan_window = milliseconds(2500)};
}

leader::Lease held_by(std::string holder, std::string renewed, std::int64_t duration_s = 15) {
  return {{std::move(holder), duration_s, "then", std::move(renewed), 3}, "7", "{}"};
}

leader::Lease released() { return {{"", 1, "then", "then", 3}, "8", "{}"}; }

/// What writing the claim gives.
leader::Lease written(const leader::LeaseRecord& record) {
  leader::Lease lease{record, "9", "{}"};
  lease.record.renew_time = "now";
  return lease;
}

void take(leader::Election& election, base::TimePoint now) {
  const leader::LeaseRecord record = election.claim_record();
  election.confirm_claim(written(record), now);
}

TEST(ElectionTest, NothingIsFreeBeforeTheLeaseHasBeenSeen) {
  const leader::Election election(settings(), kStart);
  EXPECT_FALSE(election.is_free(at(seconds(3600))));
  EXPECT_FALSE(election.leading());
}

TEST(ElectionTest, ALeaseIsFreeWhenNoBindingOfAnEarlierLeaderCanBeCarriedOutAnyMore) {
  struct Row {
    std::string name;
    leader::Lease lease;
    milliseconds free;  // after it was seen
  };
  const leader::Lease by_hand{{"", 15, "then", "then", 3}, "8", "{}"};
  const Row rows[] = {
      {"released", released(), milliseconds(0)},
      {"held by another", held_by("b_1", "t"), milliseconds(16'500)},
      {"held for longer", held_by("b_1", "t", 40), milliseconds(41'500)},
      {"its duration was edited", held_by("b_1", "t", 1), milliseconds(16'500)},
      {"its duration is missing", held_by("b_1", "t", 0), milliseconds(16'500)},
      {"its duration is below none", held_by("b_1", "t", -9), milliseconds(16'500)},
      {"its holder was edited away", by_hand, milliseconds(16'500)},
      {"created by hand", leader::Lease{{}, "1", "{}"}, milliseconds(16'500)},
      {"held by the process before this one", held_by("a_1", "t"), milliseconds(2'500)},
  };
  for (const Row& row : rows) {
    leader::Election election(settings(), kStart);
    election.observe(row.lease, kStart);
    EXPECT_EQ(election.free_at(), at(row.free)) << row.name;
    EXPECT_TRUE(election.is_free(at(row.free))) << row.name;
    EXPECT_FALSE(election.is_free(at(row.free - milliseconds(1)))) << row.name;
  }
}

TEST(ElectionTest, TheTimeCountsFromWhenTheRecordWasSeenToChange) {
  leader::Election election(settings(), kStart);
  election.observe(held_by("b_1", "t1"), at(seconds(0)));
  election.observe(held_by("b_1", "t1"), at(seconds(14)));  // the same record
  EXPECT_EQ(election.free_at(), at(milliseconds(16'500)));
  EXPECT_EQ(election.other_holder(at(milliseconds(16'499))), "b_1");
  EXPECT_EQ(election.other_holder(at(milliseconds(16'500))), "");
  election.observe(held_by("b_1", "t2"), at(seconds(15)));  // a renewal
  EXPECT_EQ(election.free_at(), at(milliseconds(31'500)));
}

TEST(ElectionTest, AnAbsentLeaseIsNeverFreeAndOneCreatedInItsPlaceNotAtOnce) {
  leader::Election election(settings(), kStart);
  EXPECT_FALSE(election.is_absent());
  election.observe(std::nullopt, kStart);
  EXPECT_TRUE(election.is_absent());
  EXPECT_FALSE(election.is_free(at(seconds(3600))));
  election.observe(written(election.placeholder()), at(seconds(3600)));
  EXPECT_FALSE(election.is_absent());
  EXPECT_EQ(election.free_at(), at(seconds(3600) + milliseconds(16'500)));
}

TEST(ElectionTest, WhatIsCreatedInPlaceOfAnAbsentLeaseNeverSaysThatItIsReleased) {
  leader::ElectionSettings shortest = settings();
  shortest.lease_duration = seconds(1);
  leader::Election election(shortest, kStart);
  election.observe(std::nullopt, kStart);
  election.observe(written(election.placeholder()), kStart);
  EXPECT_EQ(election.free_at(), at(milliseconds(2'500)));
}

TEST(ElectionTest, TheProcessBeforeThisOneDiedBeforeItStartedHoweverLateItsLeaseIsSeen) {
  leader::Election election(settings(), kStart);
  election.observe(held_by("a_1", "t"), at(seconds(5)));
  EXPECT_TRUE(election.is_free(at(seconds(5))));
}

TEST(ElectionTest, ALeaseThatSomebodyElseGaveToThisProcessMayStillHaveItsHolder) {
  leader::Election election(settings(), kStart);
  election.observe(held_by("b_1", "t1"), at(seconds(3)));
  election.observe(held_by("a_1", "t1"), at(seconds(4)));
  EXPECT_EQ(election.free_at(), at(milliseconds(20'500)));
  EXPECT_EQ(election.other_holder(at(seconds(5))), "");
}

TEST(ElectionTest, AWriteOfUnknownOutcomeThatIsSeenIsOurs) {
  leader::Election election(settings(), kStart);
  election.observe(held_by("b_1", "t1"), kStart);
  static_cast<void>(election.claim_record());  // its answer is lost
  election.observe(held_by("a_1", "t2"), at(seconds(17)));
  EXPECT_TRUE(election.is_free(at(seconds(17))));
}

TEST(ElectionTest, ARenewalMovesTheDeadlineFromWhenItWasAskedFor) {
  leader::Election election(settings(), kStart);
  election.observe(released(), kStart);
  take(election, at(seconds(1)));
  EXPECT_TRUE(election.leading());
  EXPECT_EQ(election.may_write_until(), at(seconds(11)));
  take(election, at(seconds(5)));
  EXPECT_EQ(election.may_write_until(), at(seconds(15)));
}

TEST(ElectionTest, ALeaderThatSeesAnotherHolderOrNoLeaseLeadsNoMore) {
  for (const std::optional<leader::Lease>& seen :
       {std::optional<leader::Lease>(), std::optional(held_by("b_1", "t")),
        std::optional(released())}) {
    leader::Election election(settings(), kStart);
    election.observe(released(), kStart);
    take(election, kStart);
    election.observe(seen, at(seconds(1)));
    EXPECT_FALSE(election.leading());
  }
}

TEST(ElectionTest, TheRecordSaysWhatClientGoWouldSay) {
  leader::Election election(settings(), kStart);
  EXPECT_EQ(election.placeholder(), (leader::LeaseRecord{"", 15, "", "", 0}));
  election.observe(held_by("b_1", "t"), kStart);
  EXPECT_EQ(election.claim_record(), (leader::LeaseRecord{"a_1", 15, "", "", 4}));  // a new holder
  election.observe(held_by("a_1", "t"), kStart);
  EXPECT_EQ(election.claim_record(), (leader::LeaseRecord{"a_1", 15, "then", "", 3}));
  EXPECT_EQ(election.release(), (leader::LeaseRecord{"", 1, "", "", 3}));
  leader::Lease often = held_by("b_1", "t");
  often.record.transitions = 2'147'483'647;
  election.observe(often, kStart);
  EXPECT_EQ(election.claim_record().transitions, 2'147'483'647);
}

TEST(LeaseTest, TheHostOfAHolderIsWhatStandsBeforeTheFirstUnderscore) {
  EXPECT_EQ(leader::host_in_identity("node-1_5f0c"), "node-1");
  EXPECT_EQ(leader::host_in_identity("node-1_5f0c_2"), "node-1");
  EXPECT_EQ(leader::host_in_identity("node-1"), "node-1");
  EXPECT_EQ(leader::host_in_identity(""), "");
}

TEST(ElectionTest, NobodyElseHoldsALeaseThatIsAbsentOrOursOrFreeWhateverTheTime) {
  // tick() takes the time once, and the read that follows it takes a while.
  leader::Election election(settings(), kStart);
  election.observe(std::nullopt, at(milliseconds(30)));
  EXPECT_EQ(election.other_holder(kStart), "");
  election.observe(released(), at(milliseconds(60)));
  EXPECT_EQ(election.other_holder(kStart), "");
  election.observe(held_by("a_1", "r1"), at(milliseconds(90)));
  EXPECT_EQ(election.other_holder(kStart), "");
  election.observe(held_by("b_1", "r2"), at(milliseconds(120)));
  EXPECT_EQ(election.other_holder(kStart), "b_1");
}

}  // namespace
}  // namespace snug::election_test
