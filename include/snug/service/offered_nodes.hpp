// The nodes that kube-scheduler offered for a pod in one call of filter: those that its other rules
// (node selectors, affinity, taints, cordons) admit, or the sample of them that
// percentageOfNodesToScore leaves. Immutable, and so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::service {

class OfferedNodes {
 public:
  /// `slots`: plan::Plan::slots of the call, positions in the snapshot. Returns null if they are
  /// all nodes of the snapshot.
  [[nodiscard]] static std::shared_ptr<const OfferedNodes> make(
      const model::Snapshot& snapshot, std::span<const std::uint32_t> slots);

  /// The positions of these nodes in a later snapshot, in ascending order. Nodes that have been
  /// deleted since, or added, are left out.
  [[nodiscard]] std::vector<std::uint32_t> slots_in(const model::Snapshot& snapshot) const;

  /// Equal for the same nodes, as long as no node is added or deleted.
  [[nodiscard]] std::size_t hash() const;

  friend bool operator==(const OfferedNodes&, const OfferedNodes&) = default;

 private:
  OfferedNodes(std::shared_ptr<const model::NameIndex> names, std::vector<bool> by_slot)
      : names_(std::move(names)), by_slot_(std::move(by_slot)) {}

  std::shared_ptr<const model::NameIndex> names_;  // tells which node had a slot
  std::vector<bool> by_slot_;
};

using OfferedNodesPtr = std::shared_ptr<const OfferedNodes>;

}  // namespace snug::service
