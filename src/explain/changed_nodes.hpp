// Copies of a snapshot in which some nodes have other states or are left out.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "explain/trial.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::explain {

class ChangedNodes {
 public:
  /// Begins with all nodes of the snapshot, which must outlive this object.
  explicit ChangedNodes(const model::Snapshot& snapshot);
  /// Begins with only these nodes.
  ChangedNodes(const model::Snapshot& snapshot, std::span<const Slot> slots);

  /// Does nothing if the node is not there.
  void remove_pod(std::string_view node, std::string_view uid);
  void add_pod(std::string_view node, model::HoldingPtr pod);
  /// The snapshot with the nodes as they are now. All else, such as the usage of namespaces, is
  /// unchanged.
  [[nodiscard]] model::Snapshot snapshot() const;

 private:
  [[nodiscard]] model::NodeStatePtr* find(std::string_view node);

  const model::Snapshot& before_;
  std::vector<model::NodeStatePtr> states_;  // by slot; null: no such node
};

}  // namespace snug::explain
