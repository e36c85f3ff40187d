#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ledger_fixture.hpp"
#include "support/expected_usage.hpp"
#include "support/random.hpp"

namespace snug::stress_test {
namespace {

constexpr int kThreads = 8;
constexpr int kSteps = 2'000;
constexpr int kNodes = 6;
constexpr int kPodsPerThread = 40;

std::string node_text(int node, bool healthy) {
  return "n" + std::to_string(node) + ": A 40960 x3, T 16384 x1" + (healthy ? "" : " unhealthy") +
         " | nvidia.com/gpu=4";
}

model::GpuRequest random_request(Random& random) {
  switch (random.below(5)) {
    case 0:
      return make_memory(random.from_to(1, 45'000));
    case 1:
      return make_whole(static_cast<int>(random.from_to(1, 3)));
    case 2:
      return make_units(random.from_to(1, 2));
    default:
      return make_fraction(static_cast<int>(random.from_to(1, 999)));
  }
}

/// One thread's way through the ledger. Its pods are its own, as a pod's binds are the scheduler's.
class Walker {
 public:
  Walker(LedgerFixture& world, int number, std::uint64_t seed)
      : world_(world), ledger_(world.ledger), number_(number), random_(seed) {}

  void run() {
    for (int step = 0; step < kSteps && problem_.empty(); ++step) {
      const std::string pod = pod_name();
      if (random_.below(20) == 0) {
        change_node();
      } else {
        change_pod(pod);
      }
      if (random_.below(8) == 0) look();
    }
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] int reserved() const { return reserved_; }

 private:
  std::string pod_name() {
    // A pod that has ended is followed by another one under a new uid.
    const auto slot = random_.below(kPodsPerThread);
    return std::to_string(number_) + "-" + std::to_string(slot) + "-" +
           std::to_string(lives_[slot]);
  }

  void change_node() {
    const int node = static_cast<int>(random_.below(kNodes));
    if (random_.below(4) == 0) {
      ledger_.remove_node("n" + std::to_string(node));
    }
    ledger_.put_node(make_node(node_text(node, random_.below(3) != 0)));
  }

  void change_pod(const std::string& pod) {
    switch (random_.below(10)) {
      case 0:
        return ledger_.release(pod);
      case 1:
        return ledger_.mark_unsettled(pod);
      case 2:
        return ledger_.mark_bound(pod);
      case 3:
        ++lives_[slot_of(pod)];
        return ledger_.end_pod(pod);
      case 4:
        if (const auto entry = ledger_.find(pod)) ledger_.hold(entry->holding);
        return;
      case 5:
        if (const auto entry = ledger_.find(pod)) ledger_.release_unsettled(pod, entry->sequence);
        return;
      case 6:
        return ledger_.note_intent(make_holding(pod, "n" + std::to_string(random_.below(kNodes)),
                                                {make_share(0, 100, 10)}));
      default:
        return reserve(pod);
    }
  }

  void reserve(const std::string& pod) {
    const std::string node = "n" + std::to_string(random_.below(kNodes));
    const auto result = world_.reserve(pod, node, random_request(random_));
    if (result) {
      ++reserved_;
      if ((*result)->reservation.node != node) problem_ = pod + " was reserved elsewhere";
    } else if (result.error().cause == ledger::ReserveFailure::Cause::kEnded) {
      problem_ = pod + " lives and is called ended";
    }
  }

  void look() {
    const model::SnapshotPtr snapshot = ledger_.snapshot();
    if (snapshot->generation < seen_) problem_ = "a generation went back";
    seen_ = snapshot->generation;
    if (std::string wrong = over_commitment(*snapshot); !wrong.empty()) problem_ = std::move(wrong);
  }

  static std::size_t slot_of(const std::string& pod) {
    return std::stoul(pod.substr(pod.find('-') + 1));
  }

  LedgerFixture& world_;
  ledger::Ledger& ledger_;
  int number_;
  Random random_;
  std::array<int, kPodsPerThread> lives_{};
  base::Generation seen_;
  int reserved_ = 0;
  std::string problem_;
};

/// Lists of what there is, with so many pods without GPUs that each is taken in by parts.
class Lister {
 public:
  explicit Lister(LedgerFixture& world) : ledger_(world.ledger) {}

  void run(const std::atomic<int>& walking) {
    do {
      const ledger::ListMark mark = ledger_.begin_list();
      const std::vector<ledger::LedgerEntry> entries = ledger_.gpu_entries();
      std::vector<model::HoldingPtr> hosts;
      for (int i = 0; i < kHosts; ++i)
        hosts.push_back(host_pod(i % 2 == 0 ? i : lists_ * kHosts + i));
      ledger::ListedPods listed{.bound = hosts, .living = {}, .nominated = {}};
      for (const model::HoldingPtr& pod : hosts) listed.living.insert(pod->uid);
      for (const ledger::LedgerEntry& entry : entries) {
        listed.living.insert(entry.holding->uid);
        if (entry.state == ledger::HoldingState::kBound) listed.bound.push_back(entry.holding);
      }
      (void)ledger_.replace_holdings(mark, listed);
      ++lists_;
    } while (walking > 0);
  }
  [[nodiscard]] int lists() const { return lists_; }

 private:
  static constexpr int kHosts = 900;

  static model::HoldingPtr host_pod(int number) {
    auto pod =
        make_holding("host-" + std::to_string(number), "n" + std::to_string(number % kNodes), {});
    pod->reservation.containers.clear();
    return pod;
  }

  ledger::Ledger& ledger_;
  int lists_ = 0;
};

std::uint64_t seed_of_run() {
  const char* given = std::getenv("SNUG_SEED");
  return given != nullptr ? std::stoull(given) : std::random_device{}();
}

TEST(LedgerStressTest, ThreadsNeverOverCommitAndTheEndIsTheSum) {
  const std::uint64_t seed = seed_of_run();
  std::cout << "SNUG_SEED=" << seed << "\n";
  LedgerFixture world({}, {});
  for (int node = 0; node < kNodes; ++node) world.ledger.put_node(make_node(node_text(node, true)));
  std::vector<Walker> walkers;
  for (int i = 0; i < kThreads; ++i) {
    walkers.emplace_back(world, i, seed + static_cast<std::uint64_t>(i));
  }
  Lister lister(world);
  std::atomic<bool> start = false;
  std::atomic<int> walking = kThreads;
  std::vector<std::jthread> threads;
  for (Walker& walker : walkers) {
    threads.emplace_back([&walker, &start, &walking] {
      start.wait(false);
      walker.run();
      --walking;
    });
  }
  threads.emplace_back([&lister, &start, &walking] {
    start.wait(false);
    lister.run(walking);
  });
  start = true;
  start.notify_all();
  for (std::jthread& thread : threads) thread.join();
  int reserved = 0;
  for (const Walker& walker : walkers) {
    EXPECT_EQ(walker.problem(), "");
    reserved += walker.reserved();
  }
  EXPECT_GT(reserved, kThreads) << "the run did something";
  EXPECT_GT(lister.lists(), 0);
  EXPECT_EQ(over_commitment(*world.ledger.snapshot()), "");
  world.expect_sums();
  for (const ledger::LedgerEntry& entry : world.ledger.gpu_entries())
    world.ledger.end_pod(entry.holding->uid);
  world.list(world.ledger.begin_list(), {});
  const model::SnapshotPtr empty = world.ledger.snapshot();
  for (std::size_t slot = 0; slot < empty->nodes.size(); ++slot) {
    const model::NodeStatePtr& node = empty->nodes[slot];
    EXPECT_TRUE(node == nullptr || node->holdings.empty()) << node->name();
  }
  EXPECT_TRUE(world.ledger.gpu_entries().empty());
}

}  // namespace
}  // namespace snug::stress_test
