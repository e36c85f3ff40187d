// What slices that pods hold make of their GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fit/plausible.hpp"
#include "pods.hpp"
#include "support/mig_nodes.hpp"

namespace snug::slice_usage_test {
namespace {

constexpr std::string_view kDynamic = "n1: A100 40960 mig | dynamic";
constexpr std::string_view kStatic = "n1: A100 40960 mig slices=3g.20gb@4+2g.10gb@2+1g.5gb@0";

const model::MigTable& a100() { return *card_named("A100-40GB").table; }

model::ReservedDevice slice(std::string profile, int start) {
  return make_slice_device(0, a100(), std::move(profile), start);
}

model::ReservedDevice with_uuid(model::ReservedDevice device, std::string uuid) {
  model::Slice slice = device.slice.value();
  slice.uuid = std::move(uuid);
  device.slice = std::move(slice);
  return device;
}

model::ReservedDevice sized(model::ReservedDevice device, int size) {
  model::Slice slice = device.slice.value();
  slice.size = size;
  device.slice = std::move(slice);
  return device;
}

model::ReservedDevice stating(model::ReservedDevice device, std::int64_t memory,
                              std::int64_t compute) {
  device.memory = {memory};
  device.compute = {compute};
  return device;
}

/// A device for each pod, which asked for its profile.
std::vector<model::HoldingPtr> pods(const std::vector<model::ReservedDevice>& devices) {
  std::vector<model::HoldingPtr> holdings;
  holdings.reserve(devices.size());
  for (const model::ReservedDevice& device : devices) {
    holdings.push_back(make_slice_holding("p" + std::to_string(holdings.size()), "n1", device));
  }
  return holdings;
}

TEST(SliceUsageTest, ClosuresSayWhatIsWrong) {
  struct Row {
    std::string_view why;
    std::string_view node;
    std::vector<model::ReservedDevice> devices;  // of one pod each
    model::GpuClosure closure;
  };
  using enum model::GpuClosure;
  model::ReservedDevice nothing = slice("1g.5gb", 0);
  nothing.slice.reset();
  const std::vector<Row> rows = {
      {"beside each other", kDynamic, {slice("3g.20gb", 4), slice("4g.20gb", 0)}, kOpen},
      {"the same", kDynamic, {slice("1g.5gb", 6), slice("1g.5gb", 6)}, kOverCommitted},
      {"in part", kDynamic, {slice("1g.5gb", 6), slice("3g.20gb", 4)}, kOverCommitted},
      {"engines", kDynamic, {slice("1g.5gb+me", 6), slice("1g.5gb+me", 5)}, kOverCommitted},
      {"a start that the card has not", kDynamic, {slice("2g.10gb", 6)}, kSuspect},
      {"another card's profile", kDynamic, {slice("1g.6gb", 0)}, kSuspect},
      {"another card's profile beyond the axis", kDynamic, {slice("1g.6gb", 11)}, kSuspect},
      {"another size", kDynamic, {sized(slice("1g.5gb", 0), 2)}, kSuspect},
      {"an unknown one where one is",
       kDynamic,
       {slice("1g.6gb", 0), slice("1g.5gb", 0)},
       kOverCommitted},
      {"an unknown one where one was",
       kDynamic,
       {slice("1g.5gb", 0), slice("1g.6gb", 0)},
       kOverCommitted},
      {"less memory than it has", kDynamic, {stating(slice("2g.10gb", 0), 8000, 285)}, kSuspect},
      {"by another driver", kDynamic, {stating(slice("2g.10gb", 0), 9728, 285)}, kOpen},
      {"less compute than it has", kDynamic, {stating(slice("2g.10gb", 0), 9856, 142)}, kSuspect},
      {"unhealthy", "n1: A100 40960 mig unhealthy | dynamic", {slice("1g.5gb", 0)}, kUnhealthy},
      {"one that exists", kStatic, {slice("2g.10gb", 2)}, kOpen},
      {"by its uuid", kStatic, {with_uuid(slice("2g.10gb", 2), "MIG-n1-0-2")}, kOpen},
      {"by another uuid", kStatic, {with_uuid(slice("2g.10gb", 2), "MIG-old")}, kChanged},
      {"one that does not exist", kStatic, {slice("2g.10gb", 0)}, kChanged},
      {"another profile at the place", kStatic, {slice("1g.5gb+me", 0)}, kChanged},
      {"an agent will make it",
       "n1: A100 40960 mig slices=1g.5gb@0 | dynamic",
       {with_uuid(slice("1g.5gb", 0), "MIG-old")},
       kOpen},
      {"a card without MIG", "n1: A100 40960", {slice("1g.5gb", 0)}, kSuspect},
      {"a card of no known table", "n1: L4 23034 mig", {slice("1g.5gb", 0)}, kNoMigTable},
      {"no slice is named", kDynamic, {nothing}, kSuspect}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    std::vector<model::HoldingPtr> holdings;
    for (const model::ReservedDevice& device : row.devices) {
      const std::string uid = "p" + std::to_string(holdings.size());
      holdings.push_back(device.slice ? make_slice_holding(uid, "n1", device)
                                      : make_holding(uid, "n1", {device}));
    }
    const model::NodeStatePtr node = make_state(row.node, holdings);
    EXPECT_EQ(node->gpus[0].closure, row.closure);
    EXPECT_EQ(node->gpus[0].mode, model::GpuMode::kMig);
    base::MebiBytes stated;
    for (const model::ReservedDevice& device : row.devices) stated += device.memory;
    EXPECT_GE(node->gpus[0].used_memory, stated) << "all holders stay counted";
    EXPECT_TRUE(row.closure == kOpen || node->gpus[0].free_milli_sum == 0);
  }
}

TEST(SliceUsageTest, WhatIsLeftIsCountedInMemorySlices) {
  struct Row {
    std::string_view node;
    std::vector<model::ReservedDevice> devices;
    model::AxisMask taken;
    std::int64_t memory;
    std::int64_t compute;
    std::int32_t left;
  };
  const std::vector<Row> rows = {
      {kDynamic, {}, 0, 0, 0, 1000},
      {kDynamic, {slice("1g.5gb", 6)}, 0b0100'0000, 4864, 142, 875},
      {kDynamic, {slice("3g.20gb", 4), slice("3g.20gb", 0)}, 0b1111'1111, 39936, 856, 0},
      {kDynamic, {slice("7g.40gb", 0)}, 0b1111'1111, 40192, 1000, 0},
      {kStatic, {}, 0, 0, 0, 875},
      {kStatic, {slice("3g.20gb", 4)}, 0b1111'0000, 19968, 428, 375},
      {kStatic,
       {slice("3g.20gb", 4), slice("2g.10gb", 2), slice("1g.5gb", 0)},
       0b1111'1101,
       34688,
       855,
       0},
      {"n1: A100 40960 mig slices=1g.5gb@6 | dynamic plugin=all", {}, 0, 0, 0, 875},
      {"n1: A100 40960 mig slices=1g.5gb@6+3g.20gb@0 | plugin=1g.5gb", {}, 0, 0, 0, 500},
      {"n1: A100 40960 mig failed=7 | dynamic", {}, 0, 0, 0, 875},
      {"n1: A30 24576 mig | dynamic", {}, 0, 0, 0, 1000}};
  for (const Row& row : rows) {
    const model::NodeStatePtr node = make_state(row.node, pods(row.devices));
    const model::GpuState& gpu = node->gpus[0];
    SCOPED_TRACE(describe(*node));
    EXPECT_EQ(gpu.mig.taken_slices, row.taken);
    EXPECT_EQ(gpu.used_memory, base::MebiBytes{row.memory});
    EXPECT_EQ(gpu.used_compute, base::MilliGpu{row.compute});
    EXPECT_EQ(gpu.free_milli, row.left);
    EXPECT_EQ(gpu.free_milli_sum, 2 * row.left);
  }
}

/// `init 0.1 1g.5gb@6; app 3g.20gb 3g.20gb@4`: what each container asked, and the slice it has.
model::HoldingPtr pod_with(std::string_view text) {
  auto holding = make_holding("p", "n1", {});
  holding->reservation.containers.clear();
  for (const std::string& container : split(text, ';')) {
    const std::size_t last = container.rfind(' ');
    const model::GpuRequest request = make_asks(container.substr(0, last));
    const model::Slice given = parse_slices(container.substr(last + 1)).front();
    const std::vector<model::ReservedDevice> devices = {slice(given.profile, given.start)};
    holding->reservation.containers.push_back(
        {.name = container, .request_text = "", .assigned = devices});
    holding->container_requests.emplace_back(request.containers.front());
    holding->container_types.push_back(request.containers.front().type);
  }
  return holding;
}

TEST(SliceUsageTest, ContainersOfOnePodShareASliceOnlyAsInitContainersMay) {
  struct Row {
    std::string_view pod;
    model::GpuClosure closure;
    std::int64_t memory;
    std::int64_t compute;
  };
  using enum model::GpuClosure;
  const std::vector<Row> rows = {
      {"init 0.1 3g.20gb@4; app 0.5 3g.20gb@4", kOpen, 19968, 428},
      {"init 0.1 3g.20gb@4; init 0.2 3g.20gb@4; app 0.5 3g.20gb@4", kOpen, 19968, 428},
      {"init 0.1 1g.5gb@6; init 0.1 1g.5gb@6; app 0.1 1g.5gb@0", kOpen, 4864, 142},
      {"init 0.5 3g.20gb@0; app 0.1 1g.5gb@6", kOpen, 19968, 428},
      {"side 0.1 1g.5gb@5; app 0.1 1g.5gb@6", kOpen, 9728, 284},
      {"app 0.1 1g.5gb@6; app 0.1 1g.5gb@6", kOverCommitted, 9728, 284},
      {"init 0.1 1g.5gb@6; app 0.1 1g.5gb@6; app 0.1 1g.5gb@6", kOverCommitted, 9728, 284},
      {"side 0.1 1g.5gb@6; app 0.1 1g.5gb@6", kOverCommitted, 9728, 284},
      {"side 0.1 1g.5gb@6; init 0.1 1g.5gb@6", kOverCommitted, 9728, 284},
      {"init 0.1 1g.5gb@6; side 0.1 1g.5gb@6", kOverCommitted, 4864, 142},
      {"init 0.1 1g.5gb@6; app 0.5 3g.20gb@4", kOverCommitted, 19968, 428},
      {"init 0.5 1g.5gb@6; app 0.1 1g.5gb@6", kSuspect, 4864, 142},
      {"init 1g.5gb+me 3g.20gb@4; app 0.5 3g.20gb@4", kSuspect, 19968, 428},
      {"app whole 7g.40gb@0", kSuspect, 40192, 1000}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.pod);
    const model::NodeStatePtr node = make_state(kDynamic, {pod_with(row.pod)});
    EXPECT_EQ(node->gpus[0].closure, row.closure);
    EXPECT_EQ(node->gpus[0].used_memory, base::MebiBytes{row.memory});
    EXPECT_EQ(node->gpus[0].used_compute, base::MilliGpu{row.compute});
  }
}

TEST(SliceUsageTest, ASliceIsTheSameUnderEitherSpelling) {
  const model::MigTable& card = *card_named("A100-80GB").table;
  for (const std::string_view listed : {"7g.80gb", "7g.79gb"}) {
    for (const std::string_view held : {"7g.80gb", "7g.79gb"}) {
      SCOPED_TRACE(std::string(listed) + " listed, held as " + std::string(held));
      const std::string node = "n1: A100 81920 mig slices=" + std::string(listed) + "@0";
      const model::NodeStatePtr state = make_state(
          node, {make_slice_holding("p", "n1", make_slice_device(0, card, std::string(held), 0))});
      EXPECT_EQ(state->gpus[0].closure, model::GpuClosure::kOpen);
    }
  }
}

TEST(SlicePlausibleTest, ASliceServesWhatWasAskedAsDriversHaveIt) {
  struct Row {
    std::string_view profile;
    std::string_view asks;
    bool plausible;
  };
  const std::vector<Row> rows = {
      {"1g.5gb", "app 1g.5gb", true},      {"1g.5gb+me", "app 1g.5gb", false},
      {"1g.10gb", "app 1g.5gb", false},    {"1g.5gb", "app 0.125", true},
      {"1g.5gb", "app 0.126", false},      {"2g.10gb", "app 0.125", true},
      {"1g.5gb+me", "app 0.125", false},   {"1g.5gb", "app 4864", true},
      {"1g.5gb", "app 5558", true},        {"1g.5gb", "app 5560", false},
      {"1g.5gb", "app 0.1 14%", true},     {"1g.5gb", "app 0.1 15%", false},
      {"7g.40gb", "app 0.999 100%", true}, {"7g.40gb", "app whole", false},
      {"3g.20gb", "app 0.5 mig", true}};
  for (const Row& row : rows) {
    const auto profile = static_cast<std::uint16_t>(a100().find_profile(row.profile).value_or(99));
    EXPECT_EQ(fit::plausible(a100(), profile, make_asks(row.asks).containers.front()),
              row.plausible)
        << row.profile << " for " << row.asks;
  }
  EXPECT_FALSE(fit::plausible(a100(), 0, make_units(1).containers.front()));
}

TEST(SlicePlausibleTest, ItsMemoryMayBeAnEighthOffAndItsComputeNot) {
  const fit::Charge today{.memory = {8000}, .compute = {285}};
  EXPECT_TRUE(fit::plausible(today, today));
  EXPECT_TRUE(fit::plausible(today, {{7000}, {285}}));
  EXPECT_TRUE(fit::plausible(today, {{9000}, {285}}));
  EXPECT_FALSE(fit::plausible(today, {{6999}, {285}}));
  EXPECT_FALSE(fit::plausible(today, {{9001}, {285}}));
  EXPECT_FALSE(fit::plausible(today, {{8000}, {284}}));
  EXPECT_FALSE(fit::plausible(today, {{8000}, {286}}));
}

}  // namespace
}  // namespace snug::slice_usage_test
