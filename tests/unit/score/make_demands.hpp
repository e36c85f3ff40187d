// Demand and nodes for tests of the terms that go by what has been learned. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snug/score/terms.hpp"
#include "support/node_states.hpp"
#include "support/random.hpp"

namespace snug {

inline constexpr double kFadeOfPod = 0.35;  // of a room of fading(), for a pod that has to leave
/// Of a term, for a milli-GPU: kPointsPerMilli of src/score.
inline constexpr double kPointsOfMilli = 10;
/// A room that counts less may count nothing: kFadeOfPod to the power of kDiscountSteps / 8.
inline constexpr double kLeastThatCounts = 4e-5;

/// A room of it counts so much less for each pod that has to leave.
inline model::MultiGpuShape fading(model::MultiGpuShape shape) {
  for (std::size_t eighths = 0; eighths < shape.discount.size(); ++eighths) {
    shape.discount[eighths] = static_cast<std::int64_t>(
        std::round(model::kFixedPointOne * std::pow(kFadeOfPod, static_cast<double>(eighths) / 8)));
  }
  return shape;
}

/// A need of so much with each GPU, of pods with a whole one, in a table with bins of this width.
inline model::StrandingTable strand_table(std::int64_t need, std::int64_t width = 250) {
  model::StrandingTable::Bins bins{};
  bins[static_cast<std::size_t>(need / width)] = {
      .share = model::kFixedPointOne,
      .mean_need = need,
      .served_per_unit = model::kFixedPointOne * 1000 * model::StrandingTable::kServedScale / need};
  return {bins, width};
}

/// Shares of one size are asked for, each worth its part of a GPU.
inline model::LeftOverTable left_over_table(std::int64_t size, base::MebiBytes memory = {40'960}) {
  model::LeftOverTable table{.memory = memory};
  const auto price = static_cast<std::int32_t>(1'000'000 / (1000 / size));
  for (std::size_t left = 0; left < model::LeftOverTable::kSizes; ++left) {
    table.value[left] = static_cast<std::int32_t>(left) / static_cast<std::int32_t>(size) * price;
  }
  table.price = table.value;
  return table;
}

struct HostText {
  std::string node;  // of support/cluster.hpp
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::vector<model::HoldingPtr> holdings;
};

inline model::HostResources host_amounts(std::int64_t cpu_milli, std::int64_t memory_mib) {
  return {.cpu_milli = cpu_milli, .memory_bytes = memory_mib << 20};
}

/// The node says what it has. Its models are numbered by their first letters, A is 1.
inline model::NodeStatePtr make_hosting(const HostText& text) {
  model::NodeInventory node = make_node(text.node);
  node.host = {host_amounts(text.cpu_milli, text.memory_mib), 110, true};
  for (model::GpuInfo& gpu : node.gpus) {
    gpu.model_id = static_cast<std::uint8_t>(gpu.model.front() - 'A' + 1);
  }
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)),
                               text.holdings);
}

inline model::HoldingPtr with_host(std::shared_ptr<model::Holding> holding,
                                   const model::HostResources& host) {
  holding->host = host;
  return holding;
}

/// A node of any size with pods on it, now and then with one that should not be.
inline model::NodeStatePtr draw_hosting(Random& random) {
  model::NodeInventory node = make_node("n1:");
  const std::int64_t gpus = random.one_in(20) ? 20 : random.from_to(1, 8);
  for (std::int64_t i = 0; i < gpus; ++i) {
    model::GpuInfo gpu{.index = static_cast<int>(i),
                       .model = random.pick<std::string>({"A", "B"}),
                       .memory = {1000},
                       .healthy = !random.one_in(15),
                       .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}};
    if (random.one_in(15)) gpu.allowed_modes = {model::GpuMode::kTimeSlicing};
    gpu.model_id = static_cast<std::uint8_t>(gpu.model.front() - 'A' + 1);
    node.gpus.push_back(std::move(gpu));
  }
  node.host = {host_amounts(random.draw(128'000), random.draw(512'000)), 110, !random.one_in(10)};
  std::vector<model::HoldingPtr> holdings;
  const std::int64_t pods = random.draw(2 * gpus);
  for (std::int64_t pod = 0; pod < pods; ++pod) {
    std::vector<model::ReservedDevice> devices;
    const std::int64_t count = random.one_in(4) ? random.draw(4) : 1;
    const auto first = static_cast<int>(random.draw(gpus + (random.one_in(10) ? 2 : 0)));
    for (int i = 0; i < count; ++i) {
      const auto part = [&] { return random.from_to(1, random.one_in(8) ? 1000 : 300); };
      const std::int64_t memory = part();
      const std::int64_t compute = random.one_in(2) ? memory : part();
      devices.push_back(count > 1 ? make_whole_device(first + i, 1000)
                                  : make_share(first + i, memory, compute));
    }
    holdings.push_back(with_host(make_holding("p" + std::to_string(pod), "n1", std::move(devices)),
                                 host_amounts(random.draw(20'000), random.draw(60'000))));
  }
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)),
                               std::move(holdings));
}

/// The node when a pod has been placed so.
inline model::NodeStatePtr placed_on(const model::NodeState& node,
                                     const model::Placement& placement,
                                     const model::HostResources& host) {
  std::vector<model::ReservedDevice> devices;
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    devices.push_back({.index = node.gpus[allocation.gpu].info->index,
                       .mode = allocation.mode,
                       .memory = allocation.memory,
                       .compute = allocation.compute});
  }
  std::vector<model::HoldingPtr> holdings = node.holdings;
  holdings.push_back(with_host(make_holding("placed", "n1", std::move(devices)), host));
  return fit::build_node_state(node.inventory, std::move(holdings));
}

/// A placement of a pod in one container on GPUs that take it: so many whole ones, or a share, of
/// as much memory as compute or not. None: there are too few.
inline model::Placement draw_placement(Random& random, const model::NodeState& node) {
  const bool share = random.one_in(2);
  const std::int64_t memory = share ? random.from_to(1, 999) : 1000;
  const std::int64_t compute = share && random.one_in(2) ? random.from_to(1, 999) : memory;
  const std::int64_t count = share ? 1 : random.from_to(1, 4);
  model::Placement placement;
  for (std::uint16_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    const model::GpuState& state = node.gpus[gpu];
    if (static_cast<std::int64_t>(placement.allocations.size()) == count) break;
    if (state.free_milli < std::max(memory, compute) || (!share && !state.empty()) ||
        random.one_in(4)) {
      continue;
    }
    placement.allocations.push_back(
        {.gpu = gpu,
         .mode = share ? model::GpuMode::kTimeSlicing : model::GpuMode::kWhole,
         .milli_sum = static_cast<std::int32_t>(2 * memory),
         .memory = {memory},
         .compute = {compute}});
  }
  if (static_cast<std::int64_t>(placement.allocations.size()) < count) return {};
  const model::NodeStatePtr after = placed_on(node, placement, {});
  for (model::DeviceAllocation& allocation : placement.allocations) {
    allocation.milli = static_cast<std::int32_t>(node.gpus[allocation.gpu].free_milli -
                                                 after->gpus[allocation.gpu].free_milli);
  }
  return placement;
}

}  // namespace snug
