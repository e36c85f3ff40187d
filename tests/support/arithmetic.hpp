// What nodes hold, added up by the tests themselves: nothing here calls the code that it checks.
// Devices are told apart by index alone, so nodes must keep their uuids. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "snug/model/node.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct SumOfGpu {
  std::int64_t memory = 0;
  std::int64_t compute = 0;
  int holders = 0;
  int wholes = 0;
  friend bool operator==(const SumOfGpu&, const SumOfGpu&) = default;
};

struct SumOfNode {
  std::map<int, SumOfGpu> gpus;  // by index
  std::map<std::string, std::int64_t> units;
  friend bool operator==(const SumOfNode&, const SumOfNode&) = default;
};

/// A pod's part of a GPU while one of its plain init containers runs, or (kNoInit) afterwards.
using Moments = std::map<std::size_t, SumOfGpu>;
inline constexpr std::size_t kNoInit = SIZE_MAX;

/// What each moment of the pod's life takes of each GPU, by index.
inline std::map<int, Moments> moments_of(const Holding& holding) {
  const std::vector<ReservedContainer>& containers = holding.reservation.containers;
  std::vector<std::size_t> moments = {kNoInit};
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (holding.kind_of(c) == ContainerKind::kInit) moments.push_back(c);
  }
  std::map<int, Moments> sums;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const auto* devices = std::get_if<std::vector<ReservedDevice>>(&containers[c].given);
    if (devices == nullptr) continue;
    const ContainerKind kind = holding.kind_of(c);
    for (const ReservedDevice& device : *devices) {
      for (const std::size_t moment : moments) {
        const bool runs = kind == ContainerKind::kInit      ? moment == c
                          : kind == ContainerKind::kSidecar ? c < moment
                                                            : moment == kNoInit;
        SumOfGpu& sum = sums[device.index][moment];
        sum.wholes = sum.wholes > 0 || device.mode == GpuMode::kWhole ? 1 : 0;
        if (!runs) continue;
        sum.memory += device.memory.value;
        sum.compute += device.compute.value;
      }
    }
  }
  return sums;
}

/// Of each GPU a pod has the most that it takes at any time.
inline void add_to(SumOfNode& sum, const Holding& holding) {
  for (const ReservedContainer& container : holding.reservation.containers) {
    const auto* units = std::get_if<KubeletUnits>(&container.given);
    if (units != nullptr) sum.units[units->resource] += units->count;
  }
  for (const auto& [index, moments] : moments_of(holding)) {
    SumOfGpu most{.holders = 1};
    for (const auto& [moment, now] : moments) {
      most.memory = std::max(most.memory, now.memory);
      most.compute = std::max(most.compute, now.compute);
      most.wholes = std::max(most.wholes, now.wholes);
    }
    SumOfGpu& gpu = sum.gpus[index];
    gpu.memory += most.memory;
    gpu.compute += most.compute;
    gpu.wholes += most.wholes;
    gpu.holders += most.holders;
  }
}

/// What the inventory has too little of; empty: nothing.
inline std::string over_commitment(const NodeInventory& node, const SumOfNode& sum) {
  for (const auto& [index, used] : sum.gpus) {
    const std::string here = node.name + " GPU " + std::to_string(index);
    const GpuInfo* info = nullptr;
    for (const GpuInfo& gpu : node.gpus) {
      if (gpu.index == index) info = &gpu;
    }
    if (info == nullptr) return here + " does not exist";
    if (used.memory > info->memory.value) return here + ": too much memory";
    if (used.compute > 1000) return here + ": too much compute";
    if (used.wholes > 0 && used.holders > 1) return here + ": a whole GPU is shared";
  }
  for (const auto& [resource, count] : sum.units) {
    const auto has = node.kubelet_units.find(resource);
    if (has == node.kubelet_units.end() || count > has->second) {
      return node.name + ": too many " + resource;
    }
  }
  if (!sum.units.empty() && !sum.gpus.empty()) return node.name + ": both kinds of pods";
  return "";
}

/// The first over-commitment among the snapshot's nodes.
inline std::string over_commitment(const Snapshot& snapshot) {
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (snapshot.nodes[i] == nullptr) continue;
    SumOfNode sum;
    for (const HoldingPtr& holding : snapshot.nodes[i]->holdings) add_to(sum, *holding);
    if (std::string found = over_commitment(*snapshot.nodes[i]->inventory, sum); !found.empty()) {
      return found;
    }
  }
  return "";
}

/// The node's use as the ledger shows it, in the same form.
inline SumOfNode shown_by(const NodeState& node) {
  SumOfNode sum;
  for (const HoldingPtr& holding : node.holdings) add_to(sum, *holding);
  for (const GpuState& gpu : node.gpus) {
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
