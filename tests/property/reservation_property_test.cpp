#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/plan/plan.hpp"
#include "snug/request/parse.hpp"
#include "support/claims.hpp"
#include "support/states.hpp"

namespace snug::reservation_property_test {
namespace {

const std::vector<std::string> kResources = {"nvidia.com/gpu", "nvidia.com/gpu.shared",
                                             "nvidia.com/mig-1g.5gb", "nvidia.com/mig-7g.80gb.me"};

/// A reservation leaves the other half of the bytes to fields that a later version may add.
Limits half_the_bytes() {
  Limits limits;
  limits.max_reservation_bytes /= 2;
  return limits;
}

std::string numbered(std::string_view start, std::size_t size, int number) {
  std::string name = std::string(start) + std::to_string(number);
  name.resize(std::max(size, name.size()), 'x');
  return name;
}

std::string draw_fraction() {
  if (one_in(3)) return std::to_string(1 + draw(5));
  const std::string digits = std::to_string(1000 + 1 + draw(999)).substr(1);
  return "0." + digits.substr(0, static_cast<std::size_t>(1 + draw(3)));
}

std::string draw_memory() {
  return std::to_string(draw(5000)) +
         draw_from<std::string>({"", "", "Mi", "M", "Gi", "G", "k", ".5Gi", ".25e8", "e6", "Ei"});
}

std::string draw_units() {
  return std::to_string(draw(1200)) + draw_from<std::string>({"", "", "", "k", "M", "G"});
}

PodFacts draw_pod() {
  PodFacts pod = make_pod("p");
  const bool annotated = one_in(2);
  const int containers = one_in(4) ? 1 + draw(70) : 1 + draw(3);
  pod.containers.clear();
  for (int i = 0; i < containers; ++i) {
    const int longest = annotated && !one_in(9) ? 47 : 63;
    pod.containers.push_back(
        {.name = numbered("c", static_cast<std::size_t>(1 + draw(longest)), i),
         .kind = one_in(3)
                     ? draw_from<ContainerKind>({ContainerKind::kInit, ContainerKind::kSidecar})
                     : ContainerKind::kApp});
    if (annotated) continue;
    pod.containers.back().gpu_resources.emplace(draw_from(kResources), draw_units());
    if (one_in(3)) pod.containers.back().gpu_resources.emplace(draw_from(kResources), draw_units());
  }
  if (!annotated) return pod;
  if (one_in(4)) {
    pod.annotations.emplace("gpu-mig-profile", draw_profile(draw_from(literal_cards())).name);
  } else if (one_in(2)) {
    pod.annotations.emplace("gpu-memory", draw_memory());
  } else {
    pod.annotations.emplace("gpu-fraction", draw_fraction());
  }
  if (one_in(3)) pod.annotations.emplace("gpu-container", pod.containers.back().name);
  return pod;
}

NodeInventory draw_roomy_node() {
  NodeInventory node = draw_node("n", one_in(2));
  if (one_in(2)) return node;
  for (const std::string& resource : kResources) {
    node.kubelet_units.insert_or_assign(resource, kLargestQuantity);
  }
  return node;
}

Result<ReadReservation> written_and_read(const Reservation& reservation, const Limits& limits) {
  const StringMap written = write_reservation(reservation, "c", PodFacts{});
  return read_reservation(written.at(std::string(kReservationKey)), limits);
}

bool held_open(const NodeState& node, const ReadReservation& read) {
  auto holding = std::make_shared<Holding>();
  holding->uid = read.reservation.uid;
  holding->reservation = read.reservation;
  holding->asks = read.asks;
  holding->suspect = read.suspect;
  std::vector<HoldingPtr> holdings = node.holdings;
  holdings.push_back(std::move(holding));
  const NodeStatePtr later = add_up(node.inventory, std::move(holdings));
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    if (later->gpus[i].closure != node.gpus[i].closure) return false;
  }
  return true;
}

/// The state of the node with the pod is the same whether the pod was just placed or is read back.
bool rebuilt(const NodeState& node, const GpuRequest& request, PlacementView placement,
             const ReadReservation& read) {
  const OwnClaim claim(request, make_profile("best-fit"), read.reservation.uid);
  const HoldingPtr placed = to_holding(node, claim.view(), placement);
  auto again = std::make_shared<Holding>(*placed);
  again->reservation = read.reservation;
  again->asks = read.asks;
  const NodeStatePtr before = add_up(node.inventory, {placed});
  const NodeStatePtr after = add_up(node.inventory, {again});
  const bool same = std::ranges::equal(before->gpus, after->gpus, [](const auto& a, const auto& b) {
    return a.same_as(b) && a.room == b.room && a.left == b.left;
  });
  return same && describe(*before) == describe(*after);
}

void round_trip_property() {
  const PodFacts pod = draw_pod();
  const auto request = parse_request(pod);
  RC_CLASSIFY(request.has_value(), "understood");
  if (!request || request->empty()) return;
  for (const ContainerRequest& asked : request->containers) {
    const auto read = parse_request_text(asked.text);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->ask == asked.ask);
    RC_ASSERT(read->count == asked.count);
  }
  const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(draw_roomy_node()), {});
  RC_LOG() << to_text(*request) << " on " << describe(*node);
  const Limits limits = half_the_bytes();
  const std::vector<Placement> options = fit_all(*node, *request).options;
  RC_CLASSIFY(!options.empty(), request->kubelet_assigned() ? "units fit" : "devices fit");
  bool slices = false;
  for (const Placement& option : options) {
    const Reservation reservation = reservation_by(*node, *request, option, pod.uid);
    const auto read = written_and_read(reservation, limits);
    if (!read) RC_FAIL(read.error().message);
    RC_ASSERT(read->reservation == reservation);
    if (read->suspect) RC_FAIL(read->suspect_why);
    RC_ASSERT(held_open(*node, *read));
    RC_ASSERT(rebuilt(*node, *request, option, *read));
    slices = slices || std::ranges::any_of(option.takes, [](const DeviceTake& take) {
               return take.mode == GpuMode::kMig;
             });
  }
  RC_CLASSIFY(slices, "slices fit");
}

TEST(ReservationProperty, WhateverIsPlacedIsWrittenReadBackAndBelieved) {
  holds_in(20'000, round_trip_property);
}

constexpr std::size_t kLongestUid = 36;
constexpr std::size_t kLongestNode = 253;

TEST(ReservationBytesTest, TheLargestReservationOfUnitsFitsIntoTheSmallestLimit) {
  PodFacts pod = make_pod("p");
  pod.containers.clear();
  const std::string resource = "nvidia.com/mig-" + std::string(59, 'g');
  for (int i = 0; i < 64; ++i) {
    pod.containers.push_back(
        {.name = numbered("c", 63, i), .gpu_resources = {{resource, "1000000000"}}});
  }
  const auto request = parse_request(pod);
  ASSERT_TRUE(request.has_value()) << request.error().sentence;
  ASSERT_EQ(request->containers.size(), 64U);
  NodeInventory inventory;
  inventory.name = std::string(kLongestNode, 'n');
  const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(inventory), {});
  const Limits limits = half_the_bytes();
  const Reservation reservation =
      reservation_by(*node, *request, Placement{}, std::string(kLongestUid, 'u'));
  const auto read = written_and_read(reservation, limits);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->reservation, reservation);
}

/// As large as can be: 64 devices in 8 containers that say all they can.
Reservation largest_of_several(const GpuRequest& request) {
  Reservation reservation{std::string(kLongestUid, 'u'), std::string(kLongestNode, 'n'), {}};
  int index = 65'000;
  for (const ContainerRequest& asked : request.containers) {
    std::vector<ReservedDevice> devices;
    for (int i = 0; i < asked.count; ++i) {
      devices.push_back({.index = ++index,
                         .uuid = numbered("GPU-", 64, 1000 + i),
                         .mode = GpuMode::kMig,
                         .memory = {kLargestQuantity},
                         .compute = kWholeGpu,
                         .slice = Slice{"1c.7g.141gb+me.all", 10, 10, numbered("MIG-", 64, i)}});
    }
    reservation.containers.push_back({asked.container, asked.text, std::move(devices)});
  }
  return reservation;
}

TEST(ReservationBytesTest, TheLargestReservationOfSeveralContainersFitsWhereverItMust) {
  PodFacts pod = make_pod("p");
  pod.containers.clear();
  for (int i = 0; i < 8; ++i) {
    const std::string name = numbered("c", 47, i);
    pod.containers.push_back({.name = name});
    pod.annotations["gpu-memory." + name] = std::string(60, '0') + "4Gi";
    pod.annotations["gpu-count." + name] = "8";
    pod.annotations["gpu-compute." + name] = "100";
    pod.annotations["gpu-isolation." + name] = "mig";
    pod.annotations["gpu-model." + name] = std::string(253, '"');
  }
  // As much as may be there already.
  constexpr std::size_t kMost = 262'144;
  pod.annotation_bytes = kMost - 2'048 - 7 * 1'024 - 64 * 512;
  const auto request = parse_request(pod);
  ASSERT_TRUE(request.has_value()) << request.error().sentence;
  const Reservation reservation = largest_of_several(*request);
  std::size_t written = 0;
  for (const auto& [key, value] :
       write_reservation(reservation, request->main_container, PodFacts{})) {
    written += key.size() + value.size();
  }
  EXPECT_LE(pod.annotation_bytes + written, kMost);
  const Limits limits = half_the_bytes();
  const auto read = written_and_read(reservation, limits);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->reservation, reservation);
  EXPECT_FALSE(read->suspect) << read->suspect_why;
}

TEST(ReservationBytesTest, TheLargestReservationOfDevicesFitsIntoTheLimit) {
  for (const int gpus : {1, 64, 128, 129, 999}) {
    SCOPED_TRACE(gpus);
    Limits limits = half_the_bytes();
    limits.max_gpus_per_node = gpus;
    limits.max_reservation_bytes =
        std::max(limits.max_reservation_bytes, gpus * kReservationBytesPerGpu);
    NodeInventory inventory;
    inventory.name = std::string(kLongestNode, 'n');
    for (int i = 0; i < gpus; ++i) {
      inventory.gpus.push_back({.index = 65'535 - gpus + i,
                                .uuid = numbered("GPU-", 64, 1000 + i),
                                .model = "A",
                                .memory = {kLargestQuantity},
                                .modes = {GpuMode::kWhole}});
    }
    const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(inventory), {});
    GpuRequest request = make_whole(gpus);
    request.containers.front().container = std::string(47, 'c');
    const Fitted fitted = fit_all(*node, request);
    ASSERT_EQ(fitted.options.size(), 1U);
    const Reservation reservation =
        reservation_by(*node, request, fitted.options.front(), std::string(kLongestUid, 'u'));
    const auto read = written_and_read(reservation, limits);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->reservation, reservation);
    EXPECT_FALSE(read->suspect) << read->suspect_why;
  }
}

}  // namespace
}  // namespace snug::reservation_property_test
