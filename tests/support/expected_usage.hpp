// Sums up what pods hold on a node, independently of the code under test. It identifies devices by
// index alone, so the GPU at an index of a node must not change. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oracle/amounts.hpp"
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

/// Of each GPU a pod has the most that it takes at any time.
inline void add_usage(NodeUsage& sum, const model::Holding& holding) {
  const std::vector<model::ReservedContainer>& containers = holding.reservation.containers;
  std::map<int, std::vector<Part>> parts;
  std::set<int> wholes;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (const auto* units = std::get_if<model::KubeletUnits>(&containers[c].assigned)) {
      sum.units[units->resource] += units->count;
      continue;
    }
    for (const auto& device :
         std::get<std::vector<model::ReservedDevice>>(containers[c].assigned)) {
      parts[device.index].push_back(
          {holding.container_type(c), c, {device.memory.value, device.compute.value}});
      if (device.mode == model::GpuMode::kWhole) wholes.insert(device.index);
    }
  }
  for (const auto& [index, of_gpu] : parts) {
    const Amounts most = together(of_gpu);
    GpuUsage& gpu = sum.gpus[index];
    gpu.memory += most.memory;
    gpu.compute += most.compute;
    gpu.wholes += wholes.contains(index) ? 1 : 0;
    ++gpu.holders;
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
