// What is said of closures over a run of snapshots.
#include "service/closure_reporter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"

namespace snug::closure_reporter_test {
namespace {

using Lines = std::vector<std::string>;

/// One slot of a snapshot. No name: its node is gone.
struct Shown {
  std::string node;
  std::uint64_t version = 0;
  std::vector<std::pair<int, model::GpuClosure>> gpus;  // index and closure
  model::NodeConflict conflict = model::NodeConflict::kNone;
};

model::NodeStatePtr state_of(const Shown& shown) {
  if (shown.node.empty()) return nullptr;
  model::NodeInventory inventory;
  inventory.name = shown.node;
  for (const auto& [index, closure] : shown.gpus) inventory.gpus.push_back({.index = index});
  model::NodeState state;
  state.inventory = std::make_shared<const model::NodeInventory>(std::move(inventory));
  for (const model::GpuInfo& info : state.inventory->gpus) {
    const model::GpuClosure closure = shown.gpus[state.gpus.size()].second;
    state.gpus.push_back({.info = &info, .closure = closure});
  }
  state.conflict = shown.conflict;
  return std::make_shared<const model::NodeState>(std::move(state));
}

model::Snapshot snapshot_of(const std::vector<Shown>& slots, std::uint64_t generation) {
  std::vector<std::shared_ptr<const model::NodeTable::Chunk>> chunks;
  for (std::size_t first = 0; first < slots.size(); first += model::NodeTable::kChunkSize) {
    model::NodeTable::Chunk chunk;
    const std::size_t count = std::min(model::NodeTable::kChunkSize, slots.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      chunk.states[i] = state_of(slots[first + i]);
      chunk.versions[i] = slots[first + i].version;
    }
    chunks.push_back(std::make_shared<const model::NodeTable::Chunk>(std::move(chunk)));
  }
  model::Snapshot snapshot;
  snapshot.generation = {generation};
  snapshot.nodes = model::NodeTable(std::move(chunks), slots.size());
  return snapshot;
}

struct Look {
  std::vector<Shown> slots;
  Lines said;
};

struct Course {
  const char* name;
  std::vector<Look> looks;
};

void PrintTo(const Course& course, std::ostream* out) { *out << course.name; }

class ClosuresTest : public ::testing::TestWithParam<Course> {};

TEST_P(ClosuresTest, EachIsSaidOnceAsItBegins) {
  snug::testing::ScriptedApi api;
  snug::testing::CountingMetrics metrics;
  FakeLog log;
  service::ClosureReporter reporter(api, metrics, log);
  std::uint64_t generation = 0;
  int said = 0;
  for (const Look& look : GetParam().looks) {
    const model::Snapshot snapshot = snapshot_of(look.slots, ++generation);
    log.clear();
    reporter.look_at(snapshot);
    EXPECT_EQ(log.lines(), look.said) << "look " << generation;
    said += static_cast<int>(look.said.size());
    reporter.look_at(snapshot);
    EXPECT_EQ(log.lines(), look.said) << "look " << generation << ", again";
  }
  EXPECT_EQ(metrics.problems["gpu_closed"] + metrics.problems["over_commitment"], said);
}

constexpr auto kOpen = model::GpuClosure::kOpen;
constexpr auto kUnhealthy = model::GpuClosure::kUnhealthy;
constexpr auto kVanished = model::GpuClosure::kVanished;
constexpr auto kSuspect = model::GpuClosure::kSuspect;

Shown shown(const std::string& node, std::uint64_t version, model::GpuClosure closure) {
  return {node, version, {{0, closure}}};
}

Shown gone(std::uint64_t version) { return {"", version, {}}; }

std::string closed(const std::string& node, model::GpuClosure closure, int index = 0) {
  return "GPU " + std::to_string(index) + " of node " + node +
         " is closed: " + std::string(model::to_string(closure));
}

std::string mixed(const std::string& node) {
  return "node " + node + ": " +
         std::string(model::to_string(model::NodeConflict::kMixedAssigners));
}

/// So many open nodes as fill more than one chunk of a table, then the given one.
std::vector<Shown> after_many(const Shown& last) {
  std::vector<Shown> slots(model::NodeTable::kChunkSize + 1, shown("open", 1, kOpen));
  slots.push_back(last);
  return slots;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ClosuresTest,
    ::testing::Values(
        Course{"AnOpenOrUnhealthyGpuIsNoNews",
               {{{}, {}}, {{shown("a", 1, kOpen), shown("b", 2, kUnhealthy)}, {}}}},
        Course{"WhileItLasts",
               {{{shown("a", 1, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("a", 1, kSuspect)}, {}},
                {{shown("a", 2, kSuspect)}, {}},
                {{shown("a", 2, kSuspect), shown("b", 3, kOpen)}, {}},
                {{shown("a", 4, kSuspect), shown("b", 3, kOpen)}, {}}}},
        Course{"EndsAndBeginsAgain",
               {{{shown("a", 1, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("a", 2, kOpen)}, {}},
                {{shown("a", 3, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("a", 4, kUnhealthy)}, {}},
                {{shown("a", 5, kSuspect)}, {closed("a", kSuspect)}}}},
        Course{"ForAnotherReason",
               {{{shown("a", 1, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("a", 2, kVanished)}, {closed("a", kVanished)}},
                {{shown("a", 3, kSuspect)}, {closed("a", kSuspect)}}}},
        Course{"AnotherGpuToo",
               {{{{"a", 1, {{0, kSuspect}, {1, kOpen}}}}, {closed("a", kSuspect)}},
                {{{"a", 2, {{0, kSuspect}, {1, kSuspect}}}}, {closed("a", kSuspect, 1)}},
                {{{"a", 3, {{0, kOpen}, {1, kSuspect}}}}, {}}}},
        Course{"TwoGpusOfOneIndex",
               {{{{"a", 1, {{5, kVanished}, {5, kVanished}}}}, {closed("a", kVanished, 5)}},
                {{{"a", 2, {{5, kVanished}}}}, {}},
                {{{"a", 3, {{5, kVanished}, {5, kVanished}}}}, {}},
                {{{"a", 4, {}}}, {}},
                {{{"a", 5, {{5, kVanished}, {5, kVanished}}}}, {closed("a", kVanished, 5)}}}},
        Course{"TwoNodesInTurn",
               {{{shown("a", 1, kSuspect), shown("b", 2, kOpen)}, {closed("a", kSuspect)}},
                {{shown("a", 1, kSuspect), shown("b", 3, kSuspect)}, {closed("b", kSuspect)}},
                {{shown("a", 4, kOpen), shown("b", 3, kSuspect)}, {}},
                {{shown("a", 4, kOpen), shown("b", 5, kOpen)}, {}},
                {{shown("a", 6, kSuspect), shown("b", 5, kOpen)}, {closed("a", kSuspect)}},
                {{shown("a", 6, kSuspect), shown("b", 7, kSuspect)}, {closed("b", kSuspect)}}}},
        Course{"ANodeThatGoesAndComesBack",
               {{{shown("a", 1, kSuspect)}, {closed("a", kSuspect)}},
                {{gone(0)}, {}},
                {{shown("a", 3, kSuspect)}, {closed("a", kSuspect)}},
                {{gone(4)}, {}},  // its slot is kept for its holders
                {{shown("a", 5, kSuspect)}, {closed("a", kSuspect)}}}},
        Course{"ANodeThatWasNotSeenToGo",
               {{{shown("a", 1, kSuspect), shown("b", 2, kOpen)}, {closed("a", kSuspect)}},
                {{gone(0), shown("b", 2, kOpen), shown("a", 4, kSuspect)}, {}},
                {{shown("a", 6, kSuspect), shown("b", 2, kOpen), gone(0)}, {}}}},
        Course{"ANodeInTheSlotOfAnother",
               {{{shown("a", 1, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("b", 3, kSuspect)}, {closed("b", kSuspect)}},
                {{shown("b", 3, kSuspect), shown("a", 4, kSuspect)}, {closed("a", kSuspect)}}}},
        Course{"TwoNodesThatChangedSlots",
               {{{shown("a", 1, kSuspect), shown("b", 2, kSuspect)},
                 {closed("a", kSuspect), closed("b", kSuspect)}},
                {{shown("b", 3, kSuspect), shown("a", 4, kSuspect)}, {}}}},
        Course{"BeyondTheFirstChunk",
               {{after_many(shown("z", 1, kOpen)), {}},
                {after_many(shown("z", 2, kSuspect)), {closed("z", kSuspect)}},
                {after_many(shown("z", 3, kSuspect)), {}}}},
        Course{"AStateOfTheSameVersionIsNotLookedAt",
               {{{shown("a", 1, kOpen)}, {}}, {{shown("a", 1, kSuspect)}, {}}}},
        Course{"StatesWithoutVersionsAlwaysAre",
               {{{shown("a", 0, kOpen)}, {}},
                {{shown("a", 0, kSuspect)}, {closed("a", kSuspect)}},
                {{shown("a", 0, kSuspect)}, {}},
                {{shown("a", 0, kOpen)}, {}},
                {{shown("a", 0, kSuspect)}, {closed("a", kSuspect)}}}},
        Course{
            "AConflictOfTheNode",
            {{{{"a", 1, {{0, kSuspect}}, model::NodeConflict::kMixedAssigners}},
              {mixed("a"), closed("a", kSuspect)}},
             {{{"a", 2, {{0, kSuspect}}, model::NodeConflict::kNone}}, {}},
             {{{"a", 3, {{0, kSuspect}}, model::NodeConflict::kMixedAssigners}}, {mixed("a")}}}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace snug::closure_reporter_test
