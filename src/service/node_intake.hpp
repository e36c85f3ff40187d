// Adds nodes to the ledger with the inventories that they publish. Keeps the nodes beyond maxNodes
// until the ledger has room for them. Reports nodes whose inventory cannot be used. Used by one
// thread, but any thread may call update_agents().
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "service/node_events.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/service/agent_heartbeats.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

struct NodeIntakeParts {
  ledger::Ledger& ledger;
  NodeEvents& events;
  Metrics& metrics;
  Log& log;
  AgentHeartbeats* heartbeats = nullptr;  // null: all agents count as alive
};

class NodeIntake {
 public:
  NodeIntake(const NodeIntakeParts& parts, const base::Limits& limits)
      : parts_(parts), limits_(limits) {}

  /// Replaces all nodes by those of a list.
  void replace(std::vector<model::NodeFacts> nodes);
  void put(model::NodeFacts node);
  void remove(std::string_view node_name);
  /// Puts the changes of AgentHeartbeats into the ledger. Returns whether the ledger shows what a
  /// list of heartbeats said, or is not to.
  bool update_agents();
  /// Whether a node of the ledger is closed only because no heartbeats have been listed yet.
  [[nodiscard]] bool lacks_heartbeats() const;

 private:
  /// Whether the node's agent, if it has one, is alive.
  [[nodiscard]] bool is_agent_alive(const model::NodeInventory& inventory) const;
  bool put_in_ledger(model::NodeInventory inventory);
  /// Logs if agents have begun to be ignored, or are no longer.
  void log_ignored_agents();
  /// Logs `message` and the first of the names, if there are any.
  void log_agents(LogLevel level, std::string message, std::vector<std::string> nodes);
  /// Returns the node's inventory. If the node is closed, reports the reason once.
  [[nodiscard]] model::NodeInventory read_inventory(const model::NodeFacts& node);
  /// Logs and counts why the node is closed, and notes it for an event on the node. `reason` is
  /// empty if the node is not closed.
  void report_closure(const std::string& node_name, const std::string& reason, bool is_problem);
  void leave_out_node(model::NodeFacts node);
  /// Adds left-out nodes to the ledger, while it has room.
  void fill_free_slots();
  /// Logs the number of left-out nodes if it has changed.
  void log_left_out();

  const NodeIntakeParts parts_;
  const base::Limits limits_;
  /// Held while nodes are written to the ledger, together with the look at their heartbeats, so
  /// that an older state of a heartbeat is never written after a newer one.
  base::Mutex ledger_writes_;
  std::unordered_map<std::string, std::string> logged_closures_;  // logged reason, by node name
  /// The nodes for which the ledger has no room, by name. If this map has maxNodes entries, a new
  /// node is ignored until its next change or the next list.
  std::map<std::string, model::NodeFacts> left_out_nodes_;
  std::size_t logged_left_out_count_ = 0;
  std::atomic<bool> logged_ignored_agents_ = false;
};

}  // namespace snug::service
