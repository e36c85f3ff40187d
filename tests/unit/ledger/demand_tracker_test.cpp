#include "snug/ledger/demand_tracker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "snug/base/clock.hpp"
#include "support/test_objects.hpp"

namespace snug::demand_keeper_test {
namespace {

demand::PodShape share(std::int64_t milli) {
  demand::PodShape shape;
  shape.gpus = 1;
  shape.gpu_milli = milli;
  return shape;
}

class DemandKeeperTest : public testing::Test {
 protected:
  void come(int number, std::int64_t milli = 400, bool placed = true) {
    uid = "pod-" + std::to_string(number);
    keeper.observe_pod({.uid = uid, .shape = share(milli), .placed = placed});
  }
  void add_node(std::string_view text) { ASSERT_TRUE(ledger.put_node(make_node(text))); }
  model::DemandPtr learned() { return ledger.snapshot()->demand; }

  base::ManualClock clock;
  base::Limits limits;
  ledger::Ledger ledger{clock, limits};
  ledger::DemandTracker keeper{ledger};
  std::string uid;
};

TEST_F(DemandKeeperTest, TheFirstPodTeachesAndThenDoublings) {
  add_node("n1: A 1000 x4");
  EXPECT_EQ(learned()->version, 0U);
  std::vector<int> taught;
  for (int i = 1; i <= 64; ++i) {
    const std::uint64_t before = learned()->version;
    come(i);
    if (learned()->version != before) taught.push_back(i);
  }
  EXPECT_EQ(taught, (std::vector<int>{1, 2, 4, 8, 16, 32, 64}));
}

TEST_F(DemandKeeperTest, ANodeThatComesOrGoesIsMeasuredWithTheNextEvent) {
  add_node("n1: A 1000 x4");
  for (int i = 0; i < 3; ++i) come(i);
  const std::uint64_t before = learned()->version;
  add_node("n2: B 2000 x4");
  EXPECT_EQ(learned()->version, before) << "nothing has happened to a pod";
  come(3);
  EXPECT_GT(learned()->version, before);
  EXPECT_EQ(learned()->left_over.size(), 2U) << "of both sizes";
  ledger.remove_node("n2");
  keeper.observe_nodes();
  EXPECT_EQ(learned()->left_over.size(), 1U);
}

TEST_F(DemandKeeperTest, ChurnIsPublishedWhenTheNextPodComes) {
  add_node("n1: A 1000 x4");
  for (int i = 0; i < 40; ++i) come(i);
  ASSERT_EQ(learned()->churn, 0);
  for (int i = 0; i < 20; ++i) keeper.pod_left("pod-" + std::to_string(i));
  EXPECT_EQ(learned()->churn, 0);
  come(100);
  EXPECT_GT(learned()->churn, 0);
}

TEST_F(DemandKeeperTest, APodCountsOnceHoweverOftenItIsSeenAndListed) {
  add_node("n1: A 1000 x4");
  come(1);
  const std::uint64_t before = learned()->version;
  for (int i = 0; i < 100; ++i) come(1);
  const std::string same = uid;
  const ledger::DemandTracker::ObservedPod pod{.uid = same, .shape = share(400), .placed = true};
  for (int i = 0; i < 100; ++i) keeper.observe_pod_list({&pod, 1});
  EXPECT_EQ(learned()->version, before);
}

TEST_F(DemandKeeperTest, EventsFromSeveralThreadsAreAllCounted) {
  add_node("n1: A 1000 x4");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 256; ++i) {
        const std::string name = std::to_string(t) + "-" + std::to_string(i);
        keeper.observe_pod({.uid = name, .shape = share(300 + t), .placed = true});
        if (i % 2 == 0) keeper.pod_left(name);
      }
    });
  }
  threads.clear();
  ledger::Ledger other_ledger{clock, base::Limits{}};
  other_ledger.put_node(make_node("n1: A 1000 x4"));
  ledger::DemandTracker other(other_ledger);
  for (int i = 0; i < 1024; ++i) {
    const std::string name = std::to_string(i);
    other.observe_pod({.uid = name, .shape = share(300 + i % 4), .placed = true});
  }
  const model::DemandPtr alone = other_ledger.snapshot()->demand;
  EXPECT_EQ(learned()->typical_pods.size(), 4U)
      << "1,024 pods of four kinds, the generic ones are rare";
  EXPECT_TRUE(learned()->typical_pods == alone->typical_pods)
      << "tables are made at the 1,024th pod";
  EXPECT_TRUE(learned()->left_over == alone->left_over);
}

}  // namespace
}  // namespace snug::demand_keeper_test
