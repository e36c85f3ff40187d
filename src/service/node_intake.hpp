// Reads the inventories of nodes into the ledger, and keeps the nodes that are beyond maxNodes
// until there is a free slot. Used by one thread.
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

  /// The whole list: nodes that are not in it are gone.
  void replace(std::vector<model::NodeFacts> nodes);
  void put(model::NodeFacts node);
  void remove(std::string_view name);

 private:
  /// The node's inventory; logs once why the node is closed.
  [[nodiscard]] model::NodeInventory read(const model::NodeFacts& node);
  void leave_out(model::NodeFacts node);
  /// Puts nodes that were left out into the ledger, while it has free slots.
  void fill_free_slots();
  /// Logs the number of nodes left out when it changes.
  void log_left_out();

  ledger::Ledger& ledger_;
  Metrics& metrics_;
  Log& log_;
  const base::Limits limits_;
  std::unordered_map<std::string, std::string> logged_closed_;  // why, by the node's name
  /// By name: nodes beyond maxNodes, at most maxNodes of them. More are found by their next change.
  std::map<std::string, model::NodeFacts> left_out_;
  std::size_t logged_left_out_ = 0;
};

}  // namespace snug::service
