// The search for pods whose end makes room: its work is limited, and what it finds within the limit
// is valid.
#include "explain/making_room.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/repack_scenario.hpp"

namespace snug::making_room_test {
namespace {

constexpr std::size_t kPods = 1'024;

/// A node whose GPU has room, and whose CPU 1,024 CPU-only pods hold, each 10 milli-CPU.
RepackScenario crowded() {
  RepackScenario on({"n1: A 1000"}, {}, make_fraction(500));
  on.inventories.front().host = {
      .resources = {10 * static_cast<std::int64_t>(kPods), std::int64_t{1} << 40},
      .pod_slots = 2'000,
      .known = true};
  on.incoming.host.cpu_milli = 500;
  for (std::size_t i = 0; i < kPods; ++i) {
    auto pod = make_holding("p" + std::to_string(1'000 + i), "n1", {});
    pod->reservation.containers.clear();
    pod->host.cpu_milli = 10;
    on.holdings.push_back(pod);
  }
  return on;
}

bool fits_without(RepackScenario on, const std::vector<std::string>& uids) {
  std::erase_if(on.holdings, [&](const model::HoldingPtr& pod) {
    return std::ranges::find(uids, pod->uid) != uids.end();
  });
  const model::Snapshot snapshot = on.snapshot();
  return explain::Trial(snapshot, on.incoming.view()).takes(0);
}

TEST(MakingRoomTest, TheWorkOnOneNodeOfVeryManyPodsIsLimited) {
  const RepackScenario on = crowded();
  const model::Snapshot snapshot = on.snapshot();
  const plan::IncomingPod incoming = on.incoming.view();
  const std::vector<explain::Slot> slots = {0};
  struct Row {
    std::int64_t most_work;
    std::size_t most_pods;
  };
  // A state of the node counts as some 260 units. The search by halves takes ten states.
  for (const Row& row : {Row{1, kPods}, Row{1'000, kPods / 4}, Row{4'000, 50}}) {
    explain::Trial trial(snapshot, incoming);
    const auto advice = explain::end_pods(trial, slots, {}, row.most_work);
    EXPECT_LE(trial.work(), row.most_work + 300) << "at most one more state";
    ASSERT_TRUE(advice.has_value()) << row.most_work;
    const auto* departures = std::get_if<explain::Departures>(&advice->change);
    ASSERT_NE(departures, nullptr);
    EXPECT_LE(departures->uids.size(), row.most_pods) << row.most_work;
    EXPECT_TRUE(fits_without(on, departures->uids)) << row.most_work;
  }
}

TEST(MakingRoomTest, NoNodeIsTriedWhenTheWorkIsDone) {
  const RepackScenario on = crowded();
  const model::Snapshot snapshot = on.snapshot();
  const plan::IncomingPod incoming = on.incoming.view();
  explain::Trial trial(snapshot, incoming);
  const std::vector<explain::Slot> slots = {0};
  EXPECT_FALSE(explain::end_pods(trial, slots, {}, -1).has_value());
  EXPECT_EQ(trial.work(), 0);
}

TEST(MakingRoomTest, TheSetIsSmallWhereTheWorkSuffices) {
  // Only the pods of GPU 1 are in the way, and not all of them; those of GPU 0 hold more.
  const RepackScenario on(
      {"n1: A 1000 modes=time-slicing, B 1000 modes=time-slicing"},
      {"a n1 g0:500", "b n1 g0:400", "c n1 g1:200", "d n1 g1:300", "e n1 g1:350"}, [] {
        model::GpuRequest request = make_fraction(600);
        request.containers.front().models.included = {"B"};
        request.containers.front().text += ";gpu-model=B";
        return request;
      }());
  const model::Snapshot snapshot = on.snapshot();
  const plan::IncomingPod incoming = on.incoming.view();
  explain::Trial trial(snapshot, incoming);
  const std::vector<explain::Slot> slots = {0};
  const auto advice = explain::end_pods(trial, slots, {}, 4'000);
  ASSERT_TRUE(advice.has_value());
  EXPECT_EQ(advice->sentence,
            "the pod will fit on node n1 once default/c and default/d have ended");
}

}  // namespace
}  // namespace snug::making_room_test
