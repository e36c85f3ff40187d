// What the operator lets namespaces share.
#include "snug/fit/tenant.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "pods.hpp"

namespace snug::tenant_test {
namespace {

const model::SharingRules kApart({{{"secret"}, {.own_namespace_only = true}}});
const model::SharingRules kEnforced({{{"*"}, {.require_enforcement = true}}});

model::HoldingPtr of(std::string_view name_space, std::vector<model::ReservedDevice> devices) {
  auto holding = make_holding(name_space, "n1", std::move(devices));
  holding->name_space = name_space;
  return holding;
}

TEST(TenantTest, NamespacesThatWantToBeAloneMeetNobody) {
  const fit::Tenant secret{.name_space = "secret", .rules = &kApart};
  const fit::Tenant other{.name_space = "other", .rules = &kApart};
  const model::HoldingPtr others = of("other", {make_share(0, 1024, 25)});
  const model::HoldingPtr secrets = of("secret", {make_share(0, 1024, 25)});
  constexpr std::string_view kOne = "n1: A 40960";
  constexpr std::string_view kTwo = "n1: A 40960 x2";
  check(
      {{"it joins nobody", kOne, {others}, "app 0.5", "OtherNamespace", secret},
       {"nobody joins it", kOne, {secrets}, "app 0.5", "OtherNamespace", other},
       {"its own it may", kOne, {secrets}, "app 0.5", "0", secret},
       {"others among themselves may", kOne, {others}, "app 0.5", "0", other},
       {"an empty GPU", kTwo, {others}, "app 0.5", "1", secret},
       {"several containers", kTwo, {others}, "app 0.5; app 0.5", "1/1", secret},
       {"several containers, no GPU", kTwo, {others}, "app 0.6; app 0.6", "OtherNamespace", secret},
       {"several GPUs", kTwo, {others}, "app 0.5 x2", "OtherNamespace", secret},
       {"no room is said first", kOne, {others}, "app 0.999", "NoRoom", secret},
       {"whole GPUs have no neighbours", kTwo, {others}, "app whole", "1w", secret},
       {"a holder that nobody may doubt is one too",
        "n1: A 40960 unhealthy",
        {others},
        "app 0.5",
        "Unhealthy",
        secret}});
}

TEST(TenantTest, ACapCountsWhatThePodTakesOfEachGpu) {
  const auto left = [](std::int64_t milli) {
    return fit::Tenant{.name_space = "x", .cap_remaining = milli};
  };
  constexpr std::string_view kSizes = "n1: T 16384, A 40960, H 81920";
  const std::vector<model::HoldingPtr> full = {of("y", {make_share(1, 40960, 1000)}),
                                               of("z", {make_share(2, 81920, 1000)})};
  check({{"all of it", "n1: A 40960", {}, "app 0.5", "0", left(500)},
         {"a milli-GPU too little", "n1: A 40960", {}, "app 0.5", "CapReached", left(499)},
         {"nothing left", "n1: A 40960", {}, "app 0.001", "CapReached", left(0)},
         {"less than nothing", "n1: A 40960", {}, "app 0.001", "CapReached", left(-500)},
         {"whole GPUs", "n1: A 40960 x2", {}, "app whole2", "CapReached", left(1999)},
         {"the same memory is less of a larger GPU", kSizes, {}, "app 8192", "2", left(100)},
         {"no room on those that it can pay", kSizes, full, "app 8192", "NoRoom", left(100)},
         {"several GPUs that it can pay", kSizes, {}, "app 8192 x2", "1+2", left(300)},
         {"several, and those have no room", kSizes, full, "app 8192 x2", "NoRoom", left(300)},
         {"containers that run one after another",
          "n1: A 40960",
          {},
          "init 0.6; app 0.5",
          "0/0",
          left(600)},
         {"containers that run together",
          "n1: A 40960 x2",
          {},
          "app 0.5; app 0.6",
          "CapReached",
          left(1000)},
         {"it is said before no room",
          "n1: A 40960",
          {of("y", {make_share(0, 40960, 1000)})},
          "app 0.5",
          "CapReached",
          left(100)},
         {"an init container by itself costs more, wherever the others are",
          "n1: A 40960 x4",
          {of("y", {make_share(0, 40960, 1000)})},
          "init 0.876 x4; app 0.001 1%; app 0.001; app 0.002",
          "CapReached",
          left(3500)},
         {"unhealthy is said before it",
          "n1: A 40960 unhealthy",
          {},
          "app 0.5",
          "Unhealthy",
          left(100)}});
}

/// Room, neighbours and cap are judged of the same GPUs.
TEST(TenantTest, TheReasonOfSeveralGpusIsTheFirstThatMakesThemImpossible) {
  fit::Tenant secret{.name_space = "secret", .rules = &kApart, .cap_remaining = 300};
  const model::HoldingPtr others = of("other", {make_share(2, 1024, 25), make_share(3, 1024, 25)});
  const model::HoldingPtr full =
      of("secret", {make_share(2, 81920, 1000), make_share(3, 81920, 1000)});
  const model::HoldingPtr neighbour = of("other", {make_share(1, 1024, 25)});
  constexpr std::string_view kSizes = "n1: T 16384 x2, H 81920 x2";
  check({{"those that it can pay have room, but neighbours",
          kSizes,
          {others},
          "app 8192 x2",
          "OtherNamespace",
          secret},
         {"those that it can pay have no room, others have neighbours",
          kSizes,
          {full, neighbour},
          "app 8192 x2",
          "NoRoom",
          secret}});
}

TEST(TenantTest, SharesMayHaveToBeEnforced) {
  const fit::Tenant wants{.name_space = "x", .rules = &kEnforced};
  const model::NodeStatePtr plain = make_state("n1: A 40960 x2 | nvidia.com/gpu=2");
  model::NodeInventory labelled = *plain->inventory;
  labelled.enforces_shares = true;
  const model::NodeStatePtr enforced =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(labelled), {});
  struct Enforced {
    std::string_view asks;
    std::string_view there;
    std::string_view elsewhere;
  };
  for (const Enforced& row : std::vector<Enforced>{{"app 0.5", "0", "NotEnforced"},
                                                   {"app whole2", "0w+1w", "0w+1w"},
                                                   {"app whole; app 0.5", "0w/1", "NotEnforced"},
                                                   {"init 0.5; app whole", "0w/0w", "NotEnforced"},
                                                   {"app whole; app whole", "0w/1w", "0w/1w"}}) {
    EXPECT_EQ(takes_text(*enforced, make_asks(row.asks), wants), row.there) << row.asks;
    EXPECT_EQ(takes_text(*plain, make_asks(row.asks), wants), row.elsewhere) << row.asks;
  }
}

TEST(TenantTest, UnitsOfTheKubeletHaveNeighboursWhereAGpuIsOfferedSeveralTimes) {
  model::NodeInventory inventory = make_node("n1: A 40960 | nvidia.com/gpu=3");
  const auto other = std::make_shared<model::Holding>(*make_units_holding("k", "n1", 1));
  other->name_space = "other";
  const auto said = [&](std::int64_t replicas, const fit::Tenant& tenant) {
    inventory.replicas = replicas;
    const auto node =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {other});
    return std::string(model::reason_row(fit_all(*node, make_units(2), tenant).reason).code);
  };
  const fit::Tenant secret{.name_space = "secret", .rules = &kApart};
  EXPECT_EQ(said(3, secret), "OtherNamespace");
  EXPECT_EQ(said(1, secret), "");
  EXPECT_EQ(said(3, {.name_space = "third", .rules = &kApart}), "");
  EXPECT_EQ(said(3, {.name_space = "x", .cap_remaining = 667}), "CapReached") << "2 × 334";
  EXPECT_EQ(said(3, {.name_space = "x", .cap_remaining = 668}), "");
}

TEST(TenantTest, WhatAHoldingCountsForUnderACap) {
  const model::NodeInventory node = make_node("n1: A 40960 x2");
  auto holding = make_holding("p", "n1", {make_share(0, 100, 300), make_share(1, 100, 300)});
  EXPECT_EQ(fit::held_compute(*holding, &node), base::MilliGpu{600});
  auto& containers = holding->reservation.containers;
  containers.push_back({.name = "app", .assigned = std::vector{make_share(0, 100, 500)}});
  holding->container_types = {model::ContainerType::kInit, model::ContainerType::kApp};
  EXPECT_EQ(fit::held_compute(*holding, &node), base::MilliGpu{800})
      << "500 of one, 300 of the other";
  holding->container_types = {model::ContainerType::kSidecar, model::ContainerType::kApp};
  EXPECT_EQ(fit::held_compute(*holding, &node), base::MilliGpu{1100});
  EXPECT_EQ(fit::held_compute(*make_units_holding("k", "n1", 2), &node), base::MilliGpu{2000});
  EXPECT_EQ(fit::held_compute(*make_units_holding("k", "n1", 2), nullptr), base::MilliGpu{0});
  EXPECT_EQ(fit::held_compute(*make_units_holding("k", "n1", 2, "nvidia.com/mig-1g.5gb"), &node),
            base::MilliGpu{0});
}

}  // namespace
}  // namespace snug::tenant_test
