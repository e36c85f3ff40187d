// What pods ask beyond one share of one GPU: several containers, several GPUs, isolation, models.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pods.hpp"
#include "snug/fit/pod_charge.hpp"

namespace snug::containers_test {
namespace {

model::HoldingPtr held(int gpu, std::int64_t memory, std::int64_t compute,
                       model::GpuMode mode = model::GpuMode::kTimeSlicing) {
  model::ReservedDevice device = make_share(gpu, memory, compute);
  device.mode = mode;
  return make_holding("h" + std::to_string(gpu), "n1", {device});
}

model::HoldingPtr held_whole(int gpu) {
  return make_holding("w" + std::to_string(gpu), "n1", {make_whole_device(gpu, 40960)});
}

constexpr std::string_view kOne = "n1: A 40960";
constexpr std::string_view kTwo = "n1: A 40960 x2";
constexpr std::string_view kBoth = "n1: A 40960 modes=whole+time-slicing+mps";

TEST(FitContainersTest, AppsAddUpOnAGpu) {
  check({{"together as large as the GPU", kOne, {}, "app 0.5; app 0.5", "0/0"},
         {"a thousandth too much", kOne, {}, "app 0.5; app 0.501", "TooLarge"},
         {"each on its own", kTwo, {}, "app 0.6; app 0.6", "0/1"},
         {"on one or on two", kTwo, {}, "app 0.5; app 0.5", "0/0 0/1"},
         {"beside others", kOne, {held(0, 4096, 100)}, "app 0.5; app 0.4", "0/0"},
         {"not beside others", kOne, {held(0, 4096, 100)}, "app 0.5; app 0.5", "NoRoom"},
         {"a whole GPU is nobody else's", kOne, {}, "app whole; app 0.1", "TooLarge"},
         {"one whole, one shared", kTwo, {}, "app whole; app 0.1", "0w/1"},
         {"the second choice is the only one",
          kTwo,
          {held(0, 30720, 750)},
          "app 0.25; app whole",
          "0/1w"},
         {"a sidecar counts as an app does", kOne, {}, "side 0.5; app 0.6", "TooLarge"}});
}

TEST(FitContainersTest, PlainInitContainersRunBeforeTheApps) {
  check(
      {{"the larger of the two", kOne, {}, "init 0.9; app 0.6", "0/0"},
       {"one init container after another", kOne, {}, "init 0.9; init 0.8; app 0.6", "0/0/0"},
       {"too large by itself", kOne, {held(0, 8192, 200)}, "init 0.9; app 0.6", "NoRoom"},
       {"beside the sidecar that was started before it",
        kOne,
        {},
        "side 0.3; init 0.8; app 0.1",
        "TooLarge"},
       {"before the sidecar is started", kOne, {}, "init 0.8; side 0.3; app 0.1", "0/0/0"},
       {"memory by the one, compute by the other",
        kOne,
        {},
        "init 30000 10%; app 10000 90%",
        "0/0"},
       {"both at once would be too much", kOne, {}, "side 30000 10%; app 20000 90%", "TooLarge"}});
}

TEST(FitContainersTest, PlainInitContainersUseTheDevicesOfTheApps) {
  check({{"the app's GPU", kTwo, {held(0, 30720, 750)}, "init 0.1; app 0.5", "1/1"},
         {"the apps' before a sidecar's",
          "n1: A 40960, B 40960",
          {},
          "side 0.1 A; init 0.2; app 0.1 B",
          "0/1/1"},
         {"the first app's first",
          "n1: A 40960, B 40960",
          {},
          "init 0.2; app 0.1 B; app 0.1 A",
          "1/1/0"},
         {"as many as it needs beyond them", kTwo, {}, "init 0.1 x2; app 0.5", "0+1/0"},
         {"another where the app's is too small",
          "n1: T 16384, A 40960",
          {},
          "init 20000; app 0.1 T",
          "1/0"},
         {"the app's whole GPU, in part", kOne, {}, "init 0.5; app whole", "0w/0w"},
         {"the app's whole GPUs, whole", kTwo, {}, "init whole; app whole2", "0w/0w+1w"},
         {"a whole GPU is not shared as the init container asks",
          kBoth,
          {},
          "init 0.5 mps; app whole",
          "TooLarge"},
         {"more whole GPUs than the app", kTwo, {}, "init whole2; app whole", "0w+1w/0w"},
         {"no GPU for it", kTwo, {held_whole(1)}, "init whole2; app whole", "NoRoom"},
         {"whole and then in part, though nobody may share it",
          "n1: A 40960 modes=whole",
          {},
          "init whole; init 0.5",
          "0w/0w"},
         {"in part and then whole", "n1: A 40960 modes=whole", {}, "init 0.5; init whole", "0w/0w"},
         {"in part and then whole, on two",
          "n1: A 40960 modes=whole, A 40960 modes=whole",
          {},
          "init 0.5 x2; init whole2; app whole",
          "0w+1w/0w+1w/0w"},
         {"two in two modes",
          "n1: A 40960 modes=time-slicing+mps, A 40960 modes=time-slicing+mps",
          {},
          "init 0.5 mps; init 0.5 time-slicing; app 0.1",
          "0m/1/0m"},
         {"two in two modes on one",
          kBoth,
          {},
          "init 0.5 mps; init 0.5 time-slicing; app 0.1",
          "WrongMode"}});
}

TEST(FitContainersTest, TheSameShareOnEachOfSeveralGpus) {
  check({{"two of two", kTwo, {}, "app 0.5 x2", "0+1"},
         {"more than there are", kTwo, {}, "app 0.5 x3", "TooLarge"},
         {"around a full one", "n1: A 40960 x3", {held_whole(1)}, "app 0.5 x2", "0+2"},
         {"one has no room", kTwo, {held(1, 30720, 750)}, "app 0.5 x2", "NoRoom"},
         {"by memory, on GPUs of two sizes", "n1: A 40960, T 16384", {}, "app 16384 x2", "0+1"},
         {"one is too small", "n1: A 40960, T 16384", {}, "app 16385 x2", "TooLarge"},
         {"one is unhealthy", "n1: A 40960, A 40960 unhealthy", {}, "app 0.5 x2", "Unhealthy"},
         {"several containers with several each", kTwo, {}, "app 0.5 x2; app 0.5 x2", "0+1/0+1"},
         {"of two at once too much", kTwo, {}, "app 0.5 x2; app 0.6 x2", "TooLarge"},
         {"one of them where there is room",
          "n1: A 40960 x3",
          {held(0, 20480, 500)},
          "app 0.5 x2; app 0.6",
          "0+1/2"}});
}

/// How many placements are offered, and one of them.
std::pair<std::size_t, bool> offers(std::string_view node, std::string_view asks,
                                    std::string_view wanted) {
  const std::string text = takes_text(*make_state(node), make_asks(asks));
  const std::vector<std::string> offered = split(text, ' ');
  return {offered.size(), std::ranges::find(offered, wanted) != offered.end()};
}

TEST(FitContainersTest, WhereThereAreManyWaysFullGpusAndEmptyOnesAreOffered) {
  constexpr std::string_view kBox = "n1: A 40001, A 40002, A 40003, A 40004, A 40005, A 40006";
  constexpr std::string_view kAsks = "app 0.3; app 0.3; app 0.2; app 0.2";
  EXPECT_EQ(offers(kBox, kAsks, "0/0/0/0"), std::pair(std::size_t{96}, true));
  EXPECT_EQ(offers(kBox, kAsks, "5/4/3/2"), std::pair(std::size_t{96}, true));
}

TEST(FitContainersTest, SixteenGpusAreFilledToTheBrim) {
  const std::string found = takes_text(*make_state("n1: A 40960 x16"),
                                       make_asks("app 0.3 x8; app 0.3 x8; app 0.7 x8; app 0.7 x8"));
  EXPECT_TRUE(found.starts_with("0+")) << found;
  EXPECT_EQ(takes_text(*make_state("n1: A 40960 x16"),
                       make_asks("app 0.3 x8; app 0.301 x8; app 0.7 x8; app 0.7 x8")),
            "TooLarge");
}

TEST(FitContainersTest, ModelsAreChosenWithinABox) {
  constexpr std::string_view kMixed = "n1: Tesla-T4 16384, A100-SHARED 40960, H100 81920";
  check({{"by glob, without case", kMixed, {}, "app 0.5 a1*", "1"},
         {"any but one", kMixed, {}, "app 0.5 !tesla*", "1 2"},
         {"two of a list", kMixed, {}, "app 0.5 x2 t*,h?00,tesla-t4", "0+2"},
         {"too few of them", kMixed, {}, "app 0.5 x2 H*", "ModelExcluded"},
         {"none of them", kMixed, {}, "app 0.5 L40", "ModelExcluded"},
         {"none is large enough, whatever its model", kMixed, {}, "app 90000 L40", "TooLarge"},
         {"the wanted one is full", kMixed, {held(1, 40960, 1000)}, "app 0.5 A*", "NoRoom"},
         {"each container its own", kMixed, {}, "app 0.5 H*; app 0.5 T*", "2/0"},
         {"whole ones too", kMixed, {}, "app whole !T*", "1w 2w"}});
}

TEST(FitContainersTest, IsolationOpensAnEmptyGpuAndAcceptsAUsedOne) {
  constexpr std::string_view kMpsFirst = "n1: A 40960 modes=mps+time-slicing";
  const std::vector<model::HoldingPtr> sliced = {held(0, 1024, 25)};
  const std::vector<model::HoldingPtr> mps = {held(0, 1024, 25, model::GpuMode::kMps)};
  check({{"any opens the first mode for shares", kMpsFirst, {}, "app 0.5", "0m"},
         {"another if asked", kMpsFirst, {}, "app 0.5 time-slicing", "0"},
         {"one that the operator does not allow", kOne, {}, "app 0.5 mps", "WrongMode"},
         {"any joins what is there", kBoth, mps, "app 0.5", "0m"},
         {"the same as is there", kBoth, mps, "app 0.5 mps", "0m"},
         {"another than is there", kBoth, sliced, "app 0.5 mps", "WrongMode"},
         {"no slices yet", kBoth, {}, "app 0.5 mig", "WrongMode"},
         {"too large for any GPU before that", kBoth, {}, "app 50000 mig", "TooLarge"},
         {"of GPUs that differ in that alone the one that can",
          "n1: A 40960 modes=whole+time-slicing, A 40960 modes=whole+time-slicing+mps",
          {},
          "app 0.5 mps",
          "1m"},
         {"a container that says how opens it for one that does not",
          kBoth,
          {},
          "app 0.5; app 0.5 mps",
          "0m/0m"},
         {"an init container too", kBoth, {}, "init 0.5 mps; app 0.5", "0m/0m"},
         {"on the app's GPU rather than on one of its own",
          "n1: A 40960 modes=time-slicing+mps, B 40960 modes=time-slicing+mps",
          {},
          "init 0.5 mps; app 0.5 A",
          "0m/0m"},
         {"but one that is shared otherwise stays so",
          "n1: A 40960 modes=time-slicing+mps, B 40960 modes=time-slicing+mps", sliced,
          "init 0.5 mps; app 0.5 A", "1m/0"},
         {"two that cannot agree", kBoth, {}, "app 0.1 time-slicing; app 0.1 mps", "WrongMode"}});
}

TEST(FitContainersTest, AVanishedGpuMayHaveServedAnything) {
  const std::vector<model::HoldingPtr> gone = {
      make_holding("v", "n1", {make_whole_device(7, 40960)})};
  constexpr std::string_view kMig = "n1: A 40960 mig";
  check({{"a share", kMig, gone, "app 0.5", "Unhealthy"},
         {"a share by isolation", kMig, gone, "app 0.5 mps", "Unhealthy"},
         {"two GPUs", kOne, gone, "app whole2", "Unhealthy"},
         {"three", kOne, gone, "app whole3", "TooLarge"},
         {"several containers", kMig, gone, "app 0.5; app 0.5", "Unhealthy"},
         {"one after another, whole", kMig, gone, "init whole; app whole", "Unhealthy"},
         {"beside each other, whole", kMig, gone, "app whole; app whole", "WrongMode"}});
}

TEST(PodChargeTest, WhatAContainerHasTwiceAddsUp) {
  fit::PodCharge charge;
  charge.add(model::ContainerType::kInit, 1, {{100}, {200}});
  charge.add(model::ContainerType::kInit, 1, {{100}, {200}});
  charge.add(model::ContainerType::kSidecar, 0, {{10}, {20}});
  charge.add(model::ContainerType::kApp, 2, {{1}, {400}});
  EXPECT_EQ(charge.total(), (fit::Charge{{210}, {420}}));
}

/// Nodes of so many GPUs, each of a model of its own; in a ledger they have numbers.
model::NodeStatePtr node_of_models(int gpus, int first_number) {
  auto node = std::make_shared<model::NodeInventory>();
  node->name = "n";
  for (int i = 0; i < gpus; ++i) {
    model::GpuInfo& gpu =
        node->gpus.emplace_back(model::GpuInfo{.index = i,
                                               .model = "M" + std::to_string(i),
                                               .memory = {40960},
                                               .allowed_modes = {model::GpuMode::kTimeSlicing}});
    if (first_number > 0) gpu.model_id = static_cast<std::uint8_t>(first_number + i);
  }
  return fit::build_node_state(std::move(node), {});
}

TEST(FitContainersTest, NamesOfCardsThatAreReadForAProfileAreCounted) {
  const model::GpuRequest request = make_slice_request("1g.5gb");
  fit::FitMemo memo(request);
  model::PlacementList options;
  EXPECT_EQ(fit::fit(*node_of_models(64, 0), {}, memo, options), model::ReasonCode::kNoProfile);
  const std::int64_t each = memo.steps();
  EXPECT_GE(each, 64) << "each name counts towards the bound of a call";
  auto alike = std::make_shared<model::NodeInventory>();
  alike->name = "n1";
  for (int i = 0; i < 64; ++i) {
    alike->gpus.push_back({.index = i,
                           .model = "NVIDIA-L40S",
                           .memory = {46068},
                           .allowed_modes = {model::GpuMode::kTimeSlicing}});
  }
  EXPECT_EQ(fit::fit(*fit::build_node_state(std::move(alike), {}), {}, memo, options),
            model::ReasonCode::kNoProfile);
  EXPECT_GT(memo.steps(), each);
  EXPECT_LE(memo.steps(), each + 2) << "one of 64 GPUs of one card";
}

TEST(FitContainersTest, TheCardOfANumberedModelIsRememberedWithItsMemory) {
  const model::GpuRequest small = make_slice_request("1g.5gb");
  const model::GpuRequest large = make_slice_request("7g.80gb");
  const auto node_of_a100 = [](std::vector<std::int64_t> sizes) {
    auto node = std::make_shared<model::NodeInventory>();
    node->name = "n";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      node->gpus.push_back({.index = static_cast<int>(i),
                            .model = "NVIDIA-A100-SXM4",
                            .model_id = 1,
                            .memory = {sizes[i]},
                            .allowed_modes = {model::GpuMode::kTimeSlicing}});
    }
    return fit::build_node_state(std::move(node), {});
  };
  model::PlacementList options;
  for (const auto& sizes : {std::vector<std::int64_t>{40960, 81920}, {81920, 40960}}) {
    for (const model::GpuRequest* request : {&small, &large}) {
      fit::FitMemo memo(*request);
      for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(fit::fit(*node_of_a100(sizes), {}, memo, options), model::ReasonCode::kWrongMode)
            << "one of the cards has the profile";
      }
    }
  }
  fit::FitMemo memo(large);
  EXPECT_EQ(fit::fit(*node_of_a100({40960}), {}, memo, options), model::ReasonCode::kNoProfile);
  const std::int64_t steps = memo.steps();
  EXPECT_EQ(fit::fit(*node_of_a100({40960}), {}, memo, options), model::ReasonCode::kNoProfile);
  EXPECT_EQ(memo.steps(), steps) << "it is not looked up again";
  EXPECT_EQ(fit::fit(*node_of_a100({81920}), {}, memo, options), model::ReasonCode::kWrongMode);
}

TEST(FitContainersTest, AModelWithANumberIsComparedOnce) {
  for (const std::int64_t containers : {1, 3}) {
    model::GpuRequest request = make_fraction(100);
    request.containers.resize(static_cast<std::size_t>(containers), request.containers.front());
    for (model::ContainerRequest& asked : request.containers) asked.models.included = {"m3", "m5"};
    fit::FitMemo memo(request);
    model::PlacementList options;
    const model::NodeStatePtr numbered = node_of_models(8, 1);
    EXPECT_EQ(fit::fit(*numbered, {}, memo, options), model::ReasonCode::kNone);
    for (std::size_t i = 0; i < options.size(); ++i) {
      for (const model::DeviceAllocation& allocation : options[i].allocations)
        EXPECT_TRUE(allocation.gpu == 3 || allocation.gpu == 5);
    }
    const std::int64_t steps = memo.steps();
    EXPECT_GE(steps, 8);
    for (model::ContainerRequest& asked : request.containers) asked.models.included = {"none"};
    EXPECT_EQ(fit::fit(*numbered, {}, memo, options), model::ReasonCode::kNone)
        << "it has been compared";
    const model::NodeStatePtr unnumbered = node_of_models(8, 0);
    EXPECT_EQ(fit::fit(*unnumbered, {}, memo, options), model::ReasonCode::kModelExcluded);
    EXPECT_GE(memo.steps() - steps, 8) << "each anew, and counted";
  }
}

}  // namespace
}  // namespace snug::containers_test
