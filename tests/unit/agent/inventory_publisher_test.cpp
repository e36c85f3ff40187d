// The publisher of the marks on the node, and the heartbeat.
#include "snug/agent_service/inventory_publisher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/agent_service/heartbeat.hpp"
#include "snug/base/agent_limits.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_agent_ports.hpp"

namespace snug::inventory_publisher_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Marks = agent_service::NodePort::Marks;

const base::Error kUnavailable{base::ErrorCode::kUnavailable, "no route"};

class InventoryPublisherTest : public ::testing::Test {
 protected:
  /// Ticks every 100 ms, for `time`.
  void run(milliseconds time) {
    for (milliseconds gone{0}; gone < time; gone += milliseconds(100)) {
      clock.advance(milliseconds(100));
      publisher.tick(clock.now());
    }
  }
  void want(const std::string& inventory, std::optional<std::string> enforced = std::nullopt) {
    publisher.want({.inventory = inventory, .enforced = std::move(enforced)});
    publisher.tick(clock.now());
  }

  base::ManualClock clock;
  FakeNode node;
  FakeLog log;
  NotingAgentMetrics metrics;
  agent_service::InventoryPublisher publisher{node, metrics, log};
};

TEST_F(InventoryPublisherTest, NothingIsReadOrWrittenBeforeMarksAreWanted) {
  run(seconds(120));
  EXPECT_EQ(node.reads + node.writes, 0);
  EXPECT_FALSE(publisher.is_published());
}

TEST_F(InventoryPublisherTest, MarksThatAreThereAlreadyAreNotWritten) {
  node.marks = {.inventory = "v1", .enforced = "true"};
  want("v1", "true");
  EXPECT_EQ(node.reads, 1);
  EXPECT_EQ(node.writes, 0);
  EXPECT_TRUE(publisher.is_published());
}

TEST_F(InventoryPublisherTest, AChangeIsWrittenAtOnceButAtMostOnceASecond) {
  want("v1");
  EXPECT_EQ(node.marks, (Marks{"v1", std::nullopt}));
  run(seconds(2));
  want("v2", "true");
  EXPECT_EQ(node.marks, (Marks{"v2", "true"}));
  for (int i = 0; i < 50; ++i) {  // 5 s
    want("flapping " + std::to_string(i));
    run(milliseconds(100));
  }
  EXPECT_LE(node.writes, 2 + 5);
  run(seconds(1));
  EXPECT_EQ(node.marks.inventory, "flapping 49");
  EXPECT_EQ(node.reads, 1) << "what the agent wrote need not be read again at once";
  EXPECT_EQ(std::ssize(metrics.take()), node.writes);
}

TEST_F(InventoryPublisherTest, TheLabelIsRemoved) {
  want("v1", "true");
  run(seconds(2));
  want("v1");
  EXPECT_EQ(node.marks, (Marks{"v1", std::nullopt}));
}

TEST_F(InventoryPublisherTest, WhatOthersChangeIsRepairedWithinAMinute) {
  want("v1", "true");
  node.marks = {};
  run(seconds(61));
  EXPECT_EQ(node.marks, (Marks{"v1", "true"}));
  EXPECT_EQ(node.reads, 2);
  EXPECT_EQ(node.writes, 2);
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_THAT(log.lines()[0], HasSubstr("another client has changed"));
}

TEST_F(InventoryPublisherTest, TheUsageIsAMarkLikeTheOthers) {
  const Marks with_usage{.inventory = "v1", .enforced = "true", .usage = "u"};
  want("v1", "true");
  publisher.want(with_usage);
  run(seconds(1));
  EXPECT_EQ(node.marks, with_usage);
  node.marks.usage.reset();
  run(seconds(61));
  EXPECT_EQ(node.marks, with_usage) << "a Node that was made anew gets it again";
  want("v1", "true");
  EXPECT_EQ(node.marks, (Marks{"v1", "true"})) << "unknown usage is removed";
}

TEST_F(InventoryPublisherTest, FailuresAreRetriedEverMoreRarelyAndLoggedOnce) {
  node.read_error = kUnavailable;
  want("v1");
  run(seconds(120));
  // At 0, 1, 3, 7, 15, 31, 61, 91 seconds.
  EXPECT_EQ(node.reads, 8);
  EXPECT_EQ(metrics.take(), std::vector<std::string>(8, "not written"));
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("cannot be published: no route")));
  node.read_error.reset();
  run(seconds(31));
  EXPECT_TRUE(publisher.is_published());
  EXPECT_THAT(log.take(), ElementsAre("the inventory of the node is published again"));
}

TEST_F(InventoryPublisherTest, AFailedWriteIsRetriedAfterARead) {
  node.write_error = base::Error{base::ErrorCode::kUnknown, "cut"};
  want("v1");
  EXPECT_EQ(node.writes, 1);
  EXPECT_FALSE(publisher.is_published());
  run(seconds(2));
  EXPECT_TRUE(publisher.is_published()) << "the write had been executed";
  EXPECT_EQ(node.writes, 1);
  EXPECT_THAT(metrics.take(), ElementsAre("not written"));
}

TEST_F(InventoryPublisherTest, AChangeEndsTheBackOff) {
  node.write_error = kUnavailable;
  want("v1", "true");
  run(seconds(40));
  const int writes_before = node.writes;
  node.write_error.reset();
  want("v1");
  EXPECT_EQ(node.writes, writes_before + 1);
  EXPECT_EQ(node.marks, (Marks{"v1", std::nullopt}));
}

class HeartbeatTest : public ::testing::Test {
 protected:
  void run(milliseconds time) {
    for (milliseconds gone{0}; gone < time; gone += milliseconds(100)) {
      heartbeat.tick(clock.now());
      clock.advance(milliseconds(100));
    }
  }

  base::ManualClock clock;
  FakeNode node;
  FakeLog log;
  agent_service::Heartbeat heartbeat{node, log};
};

TEST_F(HeartbeatTest, TheLeaseIsRenewedAtOnceAndThenEveryTenSeconds) {
  run(seconds(60));
  EXPECT_EQ(node.renewals, 6);
  EXPECT_TRUE(log.lines().empty());
}

TEST_F(HeartbeatTest, AFailureIsRetriedOftenBeforeTheHeartbeatCountsAsLost) {
  run(seconds(10));
  node.renewal_error = kUnavailable;
  run(milliseconds(base::agent_limits::heartbeat_lost_ms));
  EXPECT_EQ(heartbeat.failures(), 20U);
  EXPECT_THAT(log.take(), ElementsAre("the agent's Lease cannot be renewed: no route"));
  node.renewal_error.reset();
  node.renewals = 0;
  run(seconds(10));
  EXPECT_EQ(node.renewals, 1);
  EXPECT_THAT(log.take(), ElementsAre("the agent's Lease is renewed again"));
}

}  // namespace
}  // namespace snug::inventory_publisher_test
