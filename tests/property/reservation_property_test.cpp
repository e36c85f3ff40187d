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
#include "snug/request/pod_request_parser.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::reservation_property_test {
namespace {

const std::vector<std::string> kResources = {"nvidia.com/gpu", "nvidia.com/gpu.shared",
                                             "nvidia.com/mig-1g.5gb", "nvidia.com/mig-7g.80gb.me"};

/// A reservation leaves the other half of the bytes to fields that a later version may add.
base::Limits half_the_bytes() {
  base::Limits limits;
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

model::PodFacts draw_pod() {
  model::PodFacts pod = make_pod("p");
  const bool annotated = one_in(2);
  const int containers = one_in(4) ? 1 + draw(70) : 1 + draw(3);
  pod.containers.clear();
  for (int i = 0; i < containers; ++i) {
    const int longest = annotated && !one_in(9) ? 47 : 63;
    pod.containers.push_back(
        {.name = numbered("c", static_cast<std::size_t>(1 + draw(longest)), i),
         .type = one_in(3) ? draw_from<model::ContainerType>(
                                 {model::ContainerType::kInit, model::ContainerType::kSidecar})
                           : model::ContainerType::kApp});
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

model::NodeInventory draw_roomy_node() {
  model::NodeInventory node = draw_node("n", one_in(2));
  if (one_in(2)) return node;
  for (const std::string& resource : kResources) {
    node.kubelet_allocatable.insert_or_assign(resource, base::kLargestQuantity);
  }
  return node;
}

base::Result<codec::ParsedReservation> written_and_read(const model::Reservation& reservation,
                                                        const base::Limits& limits) {
  const model::StringMap written = codec::write_reservation(reservation, "c", model::PodFacts{});
  return codec::read_reservation(written.at(std::string(codec::kReservationKey)), limits);
}

bool held_open(const model::NodeState& node, const codec::ParsedReservation& read) {
  auto holding = std::make_shared<model::Holding>();
  holding->uid = read.reservation.uid;
  holding->reservation = read.reservation;
  holding->container_requests = read.container_requests;
  holding->suspect = read.suspect;
  std::vector<model::HoldingPtr> holdings = node.holdings;
  holdings.push_back(std::move(holding));
  const model::NodeStatePtr later = fit::build_node_state(node.inventory, std::move(holdings));
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    if (later->gpus[i].closure != node.gpus[i].closure) return false;
  }
  return true;
}

/// The state of the node with the pod is the same whether the pod was just placed or is read back.
bool rebuilt(const model::NodeState& node, const model::GpuRequest& request,
             model::PlacementView placement, const codec::ParsedReservation& read) {
  const OwnedIncomingPod claim(request, make_profile("best-fit"), read.reservation.uid);
  const model::HoldingPtr placed = plan::to_holding(node, claim.view(), placement);
  auto again = std::make_shared<model::Holding>(*placed);
  again->reservation = read.reservation;
  again->container_requests = read.container_requests;
  const model::NodeStatePtr before = fit::build_node_state(node.inventory, {placed});
  const model::NodeStatePtr after = fit::build_node_state(node.inventory, {again});
  const bool same = std::ranges::equal(before->gpus, after->gpus, [](const auto& a, const auto& b) {
    return a.is_interchangeable_with(b) && a.free_milli_sum == b.free_milli_sum &&
           a.free_milli == b.free_milli;
  });
  return same && describe(*before) == describe(*after);
}

void round_trip_property() {
  const model::PodFacts pod = draw_pod();
  const auto request = request::parse_request(pod);
  RC_CLASSIFY(request.has_value(), "understood");
  if (!request || request->empty()) return;
  for (const model::ContainerRequest& asked : request->containers) {
    const auto read = request::parse_request_text(asked.text);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->device == asked.device);
    RC_ASSERT(read->count == asked.count);
  }
  const model::NodeStatePtr node =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(draw_roomy_node()), {});
  RC_LOG() << model::to_text(*request) << " on " << describe(*node);
  const base::Limits limits = half_the_bytes();
  const std::vector<model::Placement> options = fit_all(*node, *request).options;
  RC_CLASSIFY(!options.empty(), request->is_kubelet_assigned() ? "units fit" : "devices fit");
  bool slices = false;
  for (const model::Placement& option : options) {
    const model::Reservation reservation = reservation_for(*node, *request, option, pod.uid);
    const auto read = written_and_read(reservation, limits);
    if (!read) RC_FAIL(read.error().message);
    RC_ASSERT(read->reservation == reservation);
    if (read->suspect) RC_FAIL(read->suspect_reason);
    RC_ASSERT(held_open(*node, *read));
    RC_ASSERT(rebuilt(*node, *request, option, *read));
    slices = slices ||
             std::ranges::any_of(option.allocations, [](const model::DeviceAllocation& allocation) {
               return allocation.mode == model::GpuMode::kMig;
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
  model::PodFacts pod = make_pod("p");
  pod.containers.clear();
  const std::string resource = "nvidia.com/mig-" + std::string(59, 'g');
  for (int i = 0; i < 64; ++i) {
    pod.containers.push_back(
        {.name = numbered("c", 63, i), .gpu_resources = {{resource, "1000000000"}}});
  }
  const auto request = request::parse_request(pod);
  ASSERT_TRUE(request.has_value()) << request.error().sentence;
  ASSERT_EQ(request->containers.size(), 64U);
  model::NodeInventory inventory;
  inventory.name = std::string(kLongestNode, 'n');
  const model::NodeStatePtr node =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
  const base::Limits limits = half_the_bytes();
  const model::Reservation reservation =
      reservation_for(*node, *request, model::Placement{}, std::string(kLongestUid, 'u'));
  const auto read = written_and_read(reservation, limits);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->reservation, reservation);
}

/// As large as can be: 64 devices in 8 containers that say all they can.
model::Reservation largest_of_several(const model::GpuRequest& request) {
  model::Reservation reservation{std::string(kLongestUid, 'u'), std::string(kLongestNode, 'n'), {}};
  int index = 65'000;
  for (const model::ContainerRequest& asked : request.containers) {
    std::vector<model::ReservedDevice> devices;
    for (int i = 0; i < asked.count; ++i) {
      devices.push_back(
          {.index = ++index,
           .uuid = numbered("GPU-", 64, 1000 + i),
           .mode = model::GpuMode::kMig,
           .memory = {base::kLargestQuantity},
           .compute = base::kWholeGpu,
           .slice = model::Slice{"1c.7g.141gb+me.all", 10, 10, numbered("MIG-", 64, i)}});
    }
    reservation.containers.push_back({asked.container, asked.text, std::move(devices)});
  }
  return reservation;
}

TEST(ReservationBytesTest, TheLargestReservationOfSeveralContainersFitsWhereverItMust) {
  model::PodFacts pod = make_pod("p");
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
  const auto request = request::parse_request(pod);
  ASSERT_TRUE(request.has_value()) << request.error().sentence;
  const model::Reservation reservation = largest_of_several(*request);
  std::size_t written = 0;
  for (const auto& [key, value] :
       codec::write_reservation(reservation, request->main_container, model::PodFacts{})) {
    written += key.size() + value.size();
  }
  EXPECT_LE(pod.annotation_bytes + written, kMost);
  const base::Limits limits = half_the_bytes();
  const auto read = written_and_read(reservation, limits);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->reservation, reservation);
  EXPECT_FALSE(read->suspect) << read->suspect_reason;
}

TEST(ReservationBytesTest, TheLargestReservationOfDevicesFitsIntoTheLimit) {
  for (const int gpus : {1, 64, 128, 129, 999}) {
    SCOPED_TRACE(gpus);
    base::Limits limits = half_the_bytes();
    limits.max_gpus_per_node = gpus;
    limits.max_reservation_bytes =
        std::max(limits.max_reservation_bytes, gpus * base::kReservationBytesPerGpu);
    model::NodeInventory inventory;
    inventory.name = std::string(kLongestNode, 'n');
    for (int i = 0; i < gpus; ++i) {
      inventory.gpus.push_back({.index = 65'535 - gpus + i,
                                .uuid = numbered("GPU-", 64, 1000 + i),
                                .model = "A",
                                .memory = {base::kLargestQuantity},
                                .allowed_modes = {model::GpuMode::kWhole}});
    }
    const model::NodeStatePtr node =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
    model::GpuRequest request = make_whole(gpus);
    request.containers.front().container = std::string(47, 'c');
    const FitResult fitted = fit_all(*node, request);
    ASSERT_EQ(fitted.options.size(), 1U);
    const model::Reservation reservation =
        reservation_for(*node, request, fitted.options.front(), std::string(kLongestUid, 'u'));
    const auto read = written_and_read(reservation, limits);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->reservation, reservation);
    EXPECT_FALSE(read->suspect) << read->suspect_reason;
  }
}

}  // namespace
}  // namespace snug::reservation_property_test
