// Adds nodes to the ledger with the inventories that they publish. Keeps the nodes beyond maxNodes
// until the ledger has room for them. Used by one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class NodeIntake {
 public:
  NodeIntake(ledger::Ledger& ledger, Metrics& metrics, Log& log, const base::Limits& limits)
      : ledger_(ledger), metrics_(metrics), log_(log), limits_(limits) {}

  /// Replaces all nodes by those of a list.
  void replace(std::vector<model::NodeFacts> nodes);
  void put(model::NodeFacts node);
  void remove(std::string_view node_name);

 private:
  /// Returns the node's inventory. If the node is closed, logs the reason once.
  [[nodiscard]] model::NodeInventory read_inventory(const model::NodeFacts& node);
  void leave_out_node(model::NodeFacts node);
  /// Adds left-out nodes to the ledger, while it has room.
  void fill_free_slots();
  /// Logs the number of left-out nodes if it has changed.
  void log_left_out();

  ledger::Ledger& ledger_;
  Metrics& metrics_;
  Log& log_;
  const base::Limits limits_;
  std::unordered_map<std::string, std::string> logged_closures_;  // logged reason, by node name
  /// The nodes for which the ledger has no room, by name. If this map has maxNodes entries, a new
  /// node is ignored until its next change or the next list.
  std::map<std::string, model::NodeFacts> left_out_nodes_;
  std::size_t logged_left_out_count_ = 0;
};

}  // namespace snug::service
