#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "snug/model/node.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "support/cluster.hpp"

namespace snug::model_test {
namespace {

TEST(ReasonTest, CodesAreUniqueWordsAndOnlyNoReasonHasNone) {
  std::set<std::string_view> codes;
  for (const ReasonRow& row : all_reasons()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    EXPECT_TRUE(std::ranges::all_of(
        row.code, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }));
  }
  EXPECT_TRUE(reason(ReasonCode::kNone).code.empty());
  EXPECT_EQ(codes.count(""), 1U);
}

TEST(ReasonTest, SentencesHoldNothingThatChanges) {
  for (const ReasonRow& row : all_reasons().subspan(1)) {
    SCOPED_TRACE(row.code);
    EXPECT_FALSE(row.sentence.empty());
    EXPECT_TRUE(std::ranges::none_of(
        row.sentence, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }));
  }
}

TEST(ReasonTest, TheCodesOnTheWireAndWhatEvictionResolvesAreStable) {
  struct Row {
    ReasonCode code;
    std::string_view wire;
    bool evictable;
  };
  const std::vector<Row> rows = {{ReasonCode::kMalformed, "Malformed", false},
                                 {ReasonCode::kForbiddenPolicy, "ForbiddenPolicy", false},
                                 {ReasonCode::kTooLarge, "TooLarge", false},
                                 {ReasonCode::kModelExcluded, "ModelExcluded", false},
                                 {ReasonCode::kUnknownNode, "UnknownNode", false},
                                 {ReasonCode::kCapReached, "CapReached", false},
                                 {ReasonCode::kNoRoom, "NoRoom", true},
                                 {ReasonCode::kWrongMode, "WrongMode", true},
                                 {ReasonCode::kUnhealthy, "Unhealthy", true},
                                 {ReasonCode::kPromised, "Promised", false},
                                 {ReasonCode::kNoProfile, "NoProfile", false}};
  for (const Row& row : rows) {
    EXPECT_EQ(reason(row.code).code, row.wire);
    EXPECT_EQ(reason(row.code).evictable, row.evictable) << row.wire;
  }
}

TEST(ReasonTest, TheNearestNodeWaitsForPodsThenForItsOperatorThenForAnotherRequest) {
  const std::vector<ReasonCode> nearest_first = {ReasonCode::kPromised,  ReasonCode::kNominated,
                                                 ReasonCode::kNoRoom,    ReasonCode::kUnhealthy,
                                                 ReasonCode::kWrongPool, ReasonCode::kModelExcluded,
                                                 ReasonCode::kTooLarge,  ReasonCode::kMalformed};
  EXPECT_TRUE(std::ranges::is_sorted(nearest_first, std::ranges::less{},
                                     [](ReasonCode code) { return reason(code).distance; }));
  std::set<std::uint16_t> distances;
  for (const ReasonRow& row : all_reasons()) {
    EXPECT_TRUE(row.distance == kFar || distances.insert(row.distance).second) << row.code;
    EXPECT_TRUE(row.distance < kFar || !row.evictable) << row.code;
  }
}

TEST(ReasonTest, AMessageIsTheCodeAndOneSentence) {
  EXPECT_EQ(message(ReasonCode::kNoRoom), "NoRoom: no GPU has room for the request");
  EXPECT_EQ(message(Refusal{ReasonCode::kNoRoom, {}}), message(ReasonCode::kNoRoom));
  EXPECT_EQ(message(Refusal{ReasonCode::kMalformed, "gpu-fraction is \"2x\""}),
            "Malformed: gpu-fraction is \"2x\"");
}

TEST(GpuModeTest, NamesAreReadBackAndOtherTextIsNoMode) {
  for (const GpuMode mode :
       {GpuMode::kWhole, GpuMode::kTimeSlicing, GpuMode::kMps, GpuMode::kMig}) {
    EXPECT_EQ(mode_from(to_string(mode)), mode);
  }
  EXPECT_EQ(to_string(GpuMode::kTimeSlicing), "time-slicing");
  for (const std::string_view text : {"", "none", "Whole", "timeslicing", "whole "}) {
    EXPECT_EQ(mode_from(text), GpuMode::kNone) << text;
  }
}

TEST(PoolTest, NamesAreThoseOfTheLabel) {
  EXPECT_EQ(to_string(Pool::kAuto), "auto");
  EXPECT_EQ(to_string(Pool::kShares), "shares");
  EXPECT_EQ(to_string(Pool::kWhole), "whole");
}

TEST(GpuClosureTest, EveryClosureButOpenHasAReasonOfItsOwn) {
  std::set<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(GpuClosure::kNoMigTable); ++i) {
    const auto closure = static_cast<GpuClosure>(i);
    EXPECT_EQ(to_string(closure).empty(), closure == GpuClosure::kOpen);
    EXPECT_TRUE(texts.insert(to_string(closure)).second) << i;
  }
}

TEST(RequestTextTest, OneContainerStandsAloneAndSeveralAreNamed) {
  GpuRequest request = make_fraction(250);
  EXPECT_EQ(to_text(request), "gpu-fraction=0.250");
  request.containers.push_back({.container = "side", .ask = WholeAsk{}, .text = "gpu-fraction=1"});
  EXPECT_EQ(to_text(request), "main: gpu-fraction=0.250; side: gpu-fraction=1");
  EXPECT_EQ(to_text(GpuRequest{}), "");
}

TEST(RequestTest, KubeletAssignedIsToldByTheKindOfAsk) {
  EXPECT_TRUE(make_units(1).kubelet_assigned());
  EXPECT_FALSE(make_whole(1).kubelet_assigned());
  EXPECT_FALSE(GpuRequest{}.kubelet_assigned());
  EXPECT_TRUE(GpuRequest{}.empty());
}

NodeStatePtr named(int number) {
  auto inventory = std::make_shared<NodeInventory>();
  inventory->name = "n" + std::to_string(number);
  auto state = std::make_shared<NodeState>();
  state->inventory = std::move(inventory);
  return state;
}

TEST(NodeTableTest, EverySlotIsFoundOverChunkBounds) {
  for (const std::size_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 128UL, 129UL}) {
    std::vector<NodeStatePtr> nodes;
    for (std::size_t i = 0; i < count; ++i) {
      nodes.push_back(i % 7 == 3 ? nullptr : named(static_cast<int>(i)));
    }
    const NodeTable table(nodes);
    ASSERT_EQ(table.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(table[i], nodes[i]) << i << " of " << count;
  }
}

TEST(GpuStateTest, WhatIsFreeIsCapacityLessUse) {
  const GpuState gpu{.memory = {100}, .used_memory = {30}, .used_compute = {250}};
  EXPECT_EQ(gpu.free_memory(), MebiBytes{70});
  EXPECT_EQ(gpu.free_compute(), MilliGpu{750});
}

TEST(ClusterTextTest, ANodeIsReadFromOneLine) {
  const NodeInventory node = make_node(
      "n1: A100 81920 x2 modes=mps+whole, T4 16384 unhealthy mig by-index | pool=shares "
      "closed=BadInventory nvidia.com/gpu=6");
  ASSERT_EQ(node.gpus.size(), 3U);
  EXPECT_EQ(node.gpus[1].uuid, "GPU-n1-1");
  EXPECT_EQ(node.gpus[1].modes, (std::vector{GpuMode::kMps, GpuMode::kWhole}));
  EXPECT_EQ(node.gpus[2].index, 2);
  EXPECT_EQ(node.gpus[2].memory, MebiBytes{16384});
  EXPECT_EQ(node.gpus[2].uuid, "");
  EXPECT_FALSE(node.gpus[2].healthy);
  EXPECT_TRUE(node.gpus[2].mig);
  EXPECT_EQ(node.pool, Pool::kShares);
  EXPECT_EQ(node.closed_to_all, ReasonCode::kBadInventory);
  EXPECT_EQ(node.kubelet_units.at("nvidia.com/gpu"), 6);
}

}  // namespace
}  // namespace snug::model_test
