// The nodes that kube-scheduler offered for a pod in one call of filter: those that its other rules
// (node selectors, affinity, taints, cordons) admit, or the sample of them that
// percentageOfNodesToScore leaves. Takes one bit for each node of the cluster. Immutable, and so
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::service {

class OfferedNodes {
 public:
  /// `slots`: plan::Plan::slots of the call, positions in the snapshot. Returns null if they are
  /// all nodes of the snapshot, and no others.
  [[nodiscard]] static std::shared_ptr<const OfferedNodes> make(
      const model::Snapshot& snapshot, std::span<const std::uint32_t> slots);

  /// The positions of these nodes in a later snapshot, in ascending order; nullopt: since the call,
  /// nodes have been added or deleted.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> slots_in(
      const model::Snapshot& snapshot) const;
  /// The number of offered nodes that the snapshot of the call did not have.
  [[nodiscard]] std::size_t unknown_nodes() const { return unknown_nodes_; }

  /// Whether both are the same nodes, and no node was added or deleted in between.
  [[nodiscard]] bool is_same_as(const OfferedNodes& other) const;
  /// Equal for offers that are the same.
  [[nodiscard]] std::size_t hash() const { return hash_; }

 private:
  OfferedNodes(const model::Snapshot& snapshot, std::vector<std::uint64_t> bits,
               std::size_t unknown_nodes);

  std::weak_ptr<const model::NameIndex> names_;  // of the call's snapshot; identifies its slots
  std::vector<std::uint64_t> bits_;              // by slot
  std::size_t unknown_nodes_ = 0;
  std::size_t hash_ = 0;
};

using OfferedNodesPtr = std::shared_ptr<const OfferedNodes>;

}  // namespace snug::service
