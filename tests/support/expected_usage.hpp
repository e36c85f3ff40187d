// Sums up what pods hold on a node, independently of the code under test. It identifies devices by
// index alone, so the GPU at an index of a node must not change. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "snug/model/node_inventory.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct GpuUsage {
  std::int64_t memory = 0;
  std::int64_t compute = 0;
  int holders = 0;
  int wholes = 0;
  friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
};

struct NodeUsage {
  std::map<int, GpuUsage> gpus;  // by index
  std::map<std::string, std::int64_t> units;
  friend bool operator==(const NodeUsage&, const NodeUsage&) = default;
};

/// What a pod takes of one GPU in each phase: while the init container at this position runs, or,
/// for kMainPhase, afterwards.
using UsageByPhase = std::map<std::size_t, GpuUsage>;
inline constexpr std::size_t kMainPhase = SIZE_MAX;

/// Returns what the pod takes of each GPU in each phase, by the index of the GPU.
inline std::map<int, UsageByPhase> usage_by_phase(const model::Holding& holding) {
  const std::vector<model::ReservedContainer>& containers = holding.reservation.containers;
  std::vector<std::size_t> moments = {kMainPhase};
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (holding.container_type(c) == model::ContainerType::kInit) moments.push_back(c);
  }
  std::map<int, UsageByPhase> sums;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(&containers[c].assigned);
    if (devices == nullptr) continue;
    const model::ContainerType kind = holding.container_type(c);
    for (const model::ReservedDevice& device : *devices) {
      for (const std::size_t moment : moments) {
        const bool runs = kind == model::ContainerType::kInit      ? moment == c
                          : kind == model::ContainerType::kSidecar ? c < moment
                                                                   : moment == kMainPhase;
        GpuUsage& sum = sums[device.index][moment];
        sum.wholes = sum.wholes > 0 || device.mode == model::GpuMode::kWhole ? 1 : 0;
        if (!runs) continue;
        sum.memory += device.memory.value;
        sum.compute += device.compute.value;
      }
    }
  }
  return sums;
}

/// Adds a pod to `sum`. For each GPU, the pod counts with the most that it takes in any phase.
inline void add_usage(NodeUsage& sum, const model::Holding& holding) {
  for (const model::ReservedContainer& container : holding.reservation.containers) {
    const auto* units = std::get_if<model::KubeletUnits>(&container.assigned);
    if (units != nullptr) sum.units[units->resource] += units->count;
  }
  for (const auto& [index, moments] : usage_by_phase(holding)) {
    GpuUsage most{.holders = 1};
    for (const auto& [moment, now] : moments) {
      most.memory = std::max(most.memory, now.memory);
      most.compute = std::max(most.compute, now.compute);
      most.wholes = std::max(most.wholes, now.wholes);
    }
    GpuUsage& gpu = sum.gpus[index];
    gpu.memory += most.memory;
    gpu.compute += most.compute;
    gpu.wholes += most.wholes;
    gpu.holders += most.holders;
  }
}

/// Describes the first GPU or resource of the node of which `sum` exceeds the capacity. Returns an
/// empty string if there is none.
inline std::string over_commitment(const model::NodeInventory& node, const NodeUsage& sum) {
  for (const auto& [index, used] : sum.gpus) {
    const std::string here = node.name + " GPU " + std::to_string(index);
    const model::GpuInfo* info = nullptr;
    for (const model::GpuInfo& gpu : node.gpus) {
      if (gpu.index == index) info = &gpu;
    }
    if (info == nullptr) return here + " does not exist";
    if (used.memory > info->memory.value) return here + ": too much memory";
    if (used.compute > 1000) return here + ": too much compute";
    if (used.wholes > 0 && used.holders > 1) return here + ": a whole GPU is shared";
  }
  for (const auto& [resource, count] : sum.units) {
    const auto has = node.kubelet_allocatable.find(resource);
    if (has == node.kubelet_allocatable.end() || count > has->second) {
      return node.name + ": too many " + resource;
    }
  }
  if (!sum.units.empty() && !sum.gpus.empty()) return node.name + ": both kinds of pods";
  return "";
}

/// Describes the first over-commitment in the snapshot. Returns an empty string if there is none.
inline std::string over_commitment(const model::Snapshot& snapshot) {
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (snapshot.nodes[i] == nullptr) continue;
    NodeUsage sum;
    for (const model::HoldingPtr& holding : snapshot.nodes[i]->holdings) add_usage(sum, *holding);
    if (std::string found = over_commitment(*snapshot.nodes[i]->inventory, sum); !found.empty()) {
      return found;
    }
  }
  return "";
}

/// Returns what is used on the node according to its state in the ledger.
inline NodeUsage usage_shown_by(const model::NodeState& node) {
  NodeUsage sum;
  for (const model::HoldingPtr& holding : node.holdings) add_usage(sum, *holding);
  for (const model::GpuState& gpu : node.gpus) {
    const auto held = sum.gpus.find(gpu.info->index);
    if (held == sum.gpus.end() && gpu.empty()) continue;
    sum.gpus[gpu.info->index].memory = gpu.used_memory.value;
    sum.gpus[gpu.info->index].compute = gpu.used_compute.value;
  }
  sum.units.clear();
  for (const auto& [resource, count] : node.kubelet_used) {
    if (count != 0) sum.units[resource] = count;
  }
  return sum;
}

}  // namespace snug
