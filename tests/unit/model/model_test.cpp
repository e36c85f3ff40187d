#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "snug/model/node_inventory.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "support/test_objects.hpp"

namespace snug::model_test {
namespace {

TEST(ReasonTest, CodesAreUniqueWordsAndOnlyNoReasonHasNone) {
  std::set<std::string_view> codes;
  for (const model::ReasonRow& row : model::all_reasons()) {
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
    EXPECT_TRUE(std::ranges::all_of(
        row.code, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }));
  }
  EXPECT_TRUE(model::reason_row(model::ReasonCode::kNone).code.empty());
  EXPECT_EQ(codes.count(""), 1U);
}

TEST(ReasonTest, SentencesHoldNothingThatChanges) {
  for (const model::ReasonRow& row : model::all_reasons().subspan(1)) {
    SCOPED_TRACE(row.code);
    EXPECT_FALSE(row.sentence.empty());
    EXPECT_TRUE(std::ranges::none_of(
        row.sentence, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }));
  }
}

TEST(ReasonTest, TheCodesOnTheWireAndWhatEvictionResolvesAreStable) {
  struct Row {
    model::ReasonCode code;
    std::string_view wire;
    bool evictable;
  };
  const std::vector<Row> rows = {{model::ReasonCode::kMalformed, "Malformed", false},
                                 {model::ReasonCode::kForbiddenPolicy, "ForbiddenPolicy", false},
                                 {model::ReasonCode::kTooLarge, "TooLarge", false},
                                 {model::ReasonCode::kModelExcluded, "ModelExcluded", false},
                                 {model::ReasonCode::kUnknownNode, "UnknownNode", false},
                                 {model::ReasonCode::kCapReached, "CapReached", false},
                                 {model::ReasonCode::kNoRoom, "NoRoom", true},
                                 {model::ReasonCode::kWrongMode, "WrongMode", true},
                                 {model::ReasonCode::kUnhealthy, "Unhealthy", true},
                                 {model::ReasonCode::kPromised, "Promised", false},
                                 {model::ReasonCode::kNoProfile, "NoProfile", false}};
  for (const Row& row : rows) {
    EXPECT_EQ(model::reason_row(row.code).code, row.wire);
    EXPECT_EQ(model::reason_row(row.code).resolvable, row.evictable) << row.wire;
  }
}

TEST(ReasonTest, TheNearestNodeWaitsForPodsThenForItsOperatorThenForAnotherRequest) {
  const std::vector<model::ReasonCode> nearest_first = {
      model::ReasonCode::kPromised,  model::ReasonCode::kNominated,
      model::ReasonCode::kNoRoom,    model::ReasonCode::kUnhealthy,
      model::ReasonCode::kWrongPool, model::ReasonCode::kModelExcluded,
      model::ReasonCode::kTooLarge,  model::ReasonCode::kMalformed};
  EXPECT_TRUE(std::ranges::is_sorted(
      nearest_first, std::ranges::less{},
      [](model::ReasonCode code) { return model::reason_row(code).distance; }));
  std::set<std::uint16_t> distances;
  for (const model::ReasonRow& row : model::all_reasons()) {
    EXPECT_TRUE(row.distance == model::kNoDistance || distances.insert(row.distance).second)
        << row.code;
    EXPECT_TRUE(row.distance < model::kNoDistance || !row.resolvable) << row.code;
  }
}

TEST(ReasonTest, AMessageIsTheCodeAndOneSentence) {
  EXPECT_EQ(model::message(model::ReasonCode::kNoRoom), "NoRoom: no GPU has room for the request");
  EXPECT_EQ(model::message(model::Refusal{model::ReasonCode::kNoRoom, {}}),
            model::message(model::ReasonCode::kNoRoom));
  EXPECT_EQ(model::message(model::Refusal{model::ReasonCode::kMalformed, "gpu-fraction is \"2x\""}),
            "Malformed: gpu-fraction is \"2x\"");
}

TEST(GpuModeTest, NamesAreReadBackAndOtherTextIsNoMode) {
  for (const model::GpuMode mode : {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing,
                                    model::GpuMode::kMps, model::GpuMode::kMig}) {
    EXPECT_EQ(model::parse_gpu_mode(model::to_string(mode)), mode);
  }
  EXPECT_EQ(model::to_string(model::GpuMode::kTimeSlicing), "time-slicing");
  for (const std::string_view text : {"", "none", "Whole", "timeslicing", "whole "}) {
    EXPECT_EQ(model::parse_gpu_mode(text), model::GpuMode::kNone) << text;
  }
}

TEST(PoolTest, NamesAreThoseOfTheLabel) {
  EXPECT_EQ(model::to_string(model::Pool::kAuto), "auto");
  EXPECT_EQ(model::to_string(model::Pool::kShares), "shares");
  EXPECT_EQ(model::to_string(model::Pool::kWhole), "whole");
}

TEST(GpuClosureTest, EveryClosureButOpenHasAReasonOfItsOwn) {
  std::set<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(model::GpuClosure::kNoMigTable); ++i) {
    const auto closure = static_cast<model::GpuClosure>(i);
    EXPECT_EQ(model::to_string(closure).empty(), closure == model::GpuClosure::kOpen);
    EXPECT_TRUE(texts.insert(model::to_string(closure)).second) << i;
  }
}

TEST(RequestTextTest, OneContainerStandsAloneAndSeveralAreNamed) {
  model::GpuRequest request = make_fraction(250);
  EXPECT_EQ(model::to_text(request), "gpu-fraction=0.250");
  request.containers.push_back(
      {.container = "side", .device = model::WholeGpuRequest{}, .text = "gpu-fraction=1"});
  EXPECT_EQ(model::to_text(request), "main: gpu-fraction=0.250; side: gpu-fraction=1");
  EXPECT_EQ(model::to_text(model::GpuRequest{}), "");
}

TEST(RequestTest, KubeletAssignedIsToldByTheKindOfAsk) {
  EXPECT_TRUE(make_units(1).is_kubelet_assigned());
  EXPECT_FALSE(make_whole(1).is_kubelet_assigned());
  EXPECT_FALSE(model::GpuRequest{}.is_kubelet_assigned());
  EXPECT_TRUE(model::GpuRequest{}.empty());
}

model::NodeStatePtr named(int number) {
  auto inventory = std::make_shared<model::NodeInventory>();
  inventory->name = "n" + std::to_string(number);
  auto state = std::make_shared<model::NodeState>();
  state->inventory = std::move(inventory);
  return state;
}

TEST(NodeTableTest, EverySlotIsFoundOverChunkBounds) {
  for (const std::size_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 128UL, 129UL}) {
    std::vector<model::NodeStatePtr> nodes;
    for (std::size_t i = 0; i < count; ++i) {
      nodes.push_back(i % 7 == 3 ? nullptr : named(static_cast<int>(i)));
    }
    const model::NodeTable table(nodes);
    ASSERT_EQ(table.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(table[i], nodes[i]) << i << " of " << count;
  }
}

TEST(GpuStateTest, WhatIsFreeIsCapacityLessUse) {
  const model::GpuState gpu{.memory = {100}, .used_memory = {30}, .used_compute = {250}};
  EXPECT_EQ(gpu.free_memory(), base::MebiBytes{70});
  EXPECT_EQ(gpu.free_compute(), base::MilliGpu{750});
}

TEST(ClusterTextTest, ANodeIsReadFromOneLine) {
  const model::NodeInventory node = make_node(
      "n1: A100 81920 x2 modes=mps+whole, T4 16384 unhealthy mig by-index | pool=shares "
      "closed=BadInventory nvidia.com/gpu=6");
  ASSERT_EQ(node.gpus.size(), 3U);
  EXPECT_EQ(node.gpus[1].uuid, "GPU-n1-1");
  EXPECT_EQ(node.gpus[1].allowed_modes,
            (std::vector{model::GpuMode::kMps, model::GpuMode::kWhole}));
  EXPECT_EQ(node.gpus[2].index, 2);
  EXPECT_EQ(node.gpus[2].memory, base::MebiBytes{16384});
  EXPECT_EQ(node.gpus[2].uuid, "");
  EXPECT_FALSE(node.gpus[2].healthy);
  EXPECT_TRUE(node.gpus[2].mig_enabled);
  EXPECT_EQ(node.pool, model::Pool::kShares);
  EXPECT_EQ(node.closed_to_all, model::ReasonCode::kBadInventory);
  EXPECT_EQ(node.kubelet_allocatable.at("nvidia.com/gpu"), 6);
}

}  // namespace
}  // namespace snug::model_test
