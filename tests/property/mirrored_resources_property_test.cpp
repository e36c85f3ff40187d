// kube-scheduler adds up the amounts that pods carry, and refuses a node whose capacity they
// exceed. So whatever Snug places on a node, the amounts of its pods never exceed the node's
// capacity.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "many.hpp"
#include "oracle/amounts.hpp"
#include "random_cluster.hpp"
#include "snug/admission/mirrored_resources.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::mirrored_resources_property_test {
namespace {

/// Mostly a range that contains all cards of the node.
admission::CardRange draw_range(const model::NodeInventory& node) {
  base::MebiBytes smallest = node.gpus.front().memory;
  base::MebiBytes largest = smallest;
  for (const model::GpuInfo& gpu : node.gpus) {
    smallest = std::min(smallest, gpu.memory);
    largest = std::max(largest, gpu.memory);
  }
  if (one_in(3)) smallest = {1 + draw(90000)};
  if (one_in(3)) largest = {1 + draw(200000)};
  return {.smallest = std::min(smallest, largest), .largest = std::max(smallest, largest)};
}

model::NodeInventory draw_gpus(bool sliced) {
  model::NodeInventory node;
  node.name = "n1";
  node.dynamic_mig = true;
  const int gpus = 1 + draw(3);
  for (int i = 0; i < gpus; ++i) {
    model::GpuInfo gpu = draw_gpu("n1", i);
    gpu.memory = {draw_from<std::int64_t>({40960, 16384, 81920, 23034, 700})};
    if (sliced && one_in(2)) make_sliced(gpu);
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

/// By Kubernetes' rule for the requests of a pod.
model::MirroredAmounts amounts_of(const model::GpuRequest& request,
                                  const admission::CardRange& cards) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < request.containers.size(); ++i) {
    const model::MirroredAmounts each = admission::container_amounts(request.containers[i], cards);
    RC_ASSERT(each.milli.value > 0);
    RC_ASSERT(each.memory.value > 0);
    parts.push_back({.runs = request.containers[i].type,
                     .position = i,
                     .amounts = {.memory = each.memory.value, .compute = each.milli.value}});
  }
  const Amounts sum = together(parts);
  return {.milli = {sum.compute}, .memory = {sum.memory}};
}

model::GpuRequest draw_ask() {
  if (one_in(3)) return draw_pod();
  model::GpuRequest request = make_fraction(1);
  request.containers = {one_in(3) ? draw_slice_ask()
                                  : draw_container(model::ContainerType::kApp, one_in(8), 999)};
  return request;
}

void fill_and_check(const model::NodeInventory& inventory, int pods) {
  const admission::CardRange cards = draw_range(inventory);
  std::vector<model::HoldingPtr> holdings;
  model::MirroredAmounts carried;
  const auto shared_inventory = std::make_shared<const model::NodeInventory>(inventory);
  for (int i = 0; i < pods; ++i) {
    const model::NodeStatePtr state = fit::build_node_state(shared_inventory, holdings);
    const OwnedIncomingPod claim(draw_ask(), make_profile(one_in(2) ? "best-fit" : "spread"),
                                 "p" + std::to_string(i));
    const FitResult fitted = fit_all(*state, claim.request);
    if (fitted.options.empty()) continue;
    holdings.push_back(plan::to_holding(
        *state, claim.view(),
        fitted.options[static_cast<std::size_t>(draw(static_cast<int>(fitted.options.size())))]));
    carried += amounts_of(claim.request, cards);
    const model::MirroredAmounts capacity =
        admission::node_amounts(*fit::build_node_state(shared_inventory, holdings), cards);
    RC_LOG() << claim.request.main_container << " " << to_text(claim.request) << ": "
             << carried.milli.value << "m " << carried.memory.value << " MiB of "
             << capacity.milli.value << "m " << capacity.memory.value << " MiB; range "
             << cards.smallest.value << ".." << cards.largest.value << "\n";
    // The node shows its capacity before the pod arrives.
    const model::MirroredAmounts before = admission::node_amounts(*state, cards);
    RC_ASSERT(carried.milli <= before.milli);
    RC_ASSERT(carried.memory <= before.memory);
    RC_ASSERT(carried.milli <= capacity.milli);
    RC_ASSERT(carried.memory <= capacity.memory);
  }
}

TEST(MirroredResources, WhatSnugPlacesIsWithinTheCapacityProperty) {
  holds_in(400, [] { fill_and_check(draw_gpus(false), 60); });
}

TEST(MirroredResources, WhatSnugPlacesIsWithinTheCapacityOfSlicedCardsProperty) {
  holds_in(400, [] { fill_and_check(draw_gpus(true), 40); });
}

}  // namespace
}  // namespace snug::mirrored_resources_property_test
