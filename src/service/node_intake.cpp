#include "service/node_intake.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "snug/codec/inventory_codec.hpp"

namespace snug::service {

void NodeIntake::replace(std::vector<model::NodeFacts> nodes) {
  std::vector<model::NodeInventory> inventories;
  inventories.reserve(nodes.size());
  std::unordered_set<std::string_view> listed_names;
  for (const model::NodeFacts& node : nodes) {
    inventories.push_back(read_inventory(node));
    listed_names.insert(node.name);
  }
  const auto is_gone = [&](const auto& closure) { return !listed_names.contains(closure.first); };
  std::erase_if(logged_closures_, is_gone);
  parts_.events.keep_only(listed_names);
  left_out_nodes_.clear();
  const std::size_t nodes_left_out = [&] {
    const base::MutexLock lock(ledger_writes_);
    for (model::NodeInventory& inventory : inventories)
      inventory.agent_alive = is_agent_alive(inventory);
    return parts_.ledger.replace_nodes(std::move(inventories));
  }();
  if (nodes_left_out > 0) {
    const auto ledger_names = parts_.ledger.snapshot()->names;
    for (model::NodeFacts& node : nodes) {
      if (!ledger_names->contains(node.name)) leave_out_node(std::move(node));
    }
  }
  log_left_out();
}

void NodeIntake::put(model::NodeFacts node) {
  if (put_in_ledger(read_inventory(node))) {
    left_out_nodes_.erase(node.name);
  } else {
    leave_out_node(std::move(node));
  }
  log_left_out();
}

void NodeIntake::remove(std::string_view node_name) {
  logged_closures_.erase(std::string(node_name));
  parts_.events.forget(node_name);
  left_out_nodes_.erase(std::string(node_name));
  {
    const base::MutexLock lock(ledger_writes_);
    parts_.ledger.remove_node(node_name);
  }
  fill_free_slots();
  log_left_out();
}

bool NodeIntake::update_agents() {
  if (parts_.heartbeats == nullptr) return true;
  const bool is_listed = parts_.heartbeats->is_listed();
  std::vector<std::string> alive_nodes;
  std::vector<std::string> silent_nodes;
  for (std::string& node_name : parts_.heartbeats->take_changes()) {
    const base::MutexLock lock(ledger_writes_);
    const auto inventory = parts_.ledger.inventory(node_name);
    if (inventory == nullptr || inventory->agent_alive == is_agent_alive(*inventory)) continue;
    model::NodeInventory changed_inventory = *inventory;
    changed_inventory.agent_alive = !inventory->agent_alive;
    (void)parts_.ledger.put_node(std::move(changed_inventory));
    (inventory->agent_alive ? silent_nodes : alive_nodes).push_back(std::move(node_name));
  }
  log_agents(LogLevel::kWarn, "the agents of these nodes are silent: ", std::move(silent_nodes));
  log_agents(LogLevel::kInfo, "the agents of these nodes are alive: ", std::move(alive_nodes));
  log_ignored_agents();
  return is_listed;
}

void NodeIntake::log_ignored_agents() {
  const bool are_ignored = parts_.heartbeats->ignores_agents();
  if (logged_ignored_agents_.exchange(are_ignored) == are_ignored) return;
  if (are_ignored) {
    parts_.log.write(
        LogLevel::kError,
        "agents of nodes are ignored, so nodes that fail closed take no GPU pods: more "
        "than maxNodes (" +
            std::to_string(limits_.max_nodes) + ") agents are alive");
  } else {
    parts_.log.write(LogLevel::kInfo, "no agents of nodes are ignored any more");
  }
}

bool NodeIntake::lacks_heartbeats() const {
  if (parts_.heartbeats == nullptr || parts_.heartbeats->is_listed()) return false;
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  for (std::size_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot->nodes[slot];
    if (node != nullptr && (node->annotated_refusal == model::ReasonCode::kAgentAway ||
                            node->kubelet_refusal == model::ReasonCode::kAgentAway))
      return true;
  }
  return false;
}

void NodeIntake::log_agents(LogLevel level, std::string message, std::vector<std::string> nodes) {
  constexpr std::size_t kMostNames = 5;
  if (nodes.empty()) return;
  std::ranges::sort(nodes);
  for (std::size_t i = 0; i < std::min(nodes.size(), kMostNames); ++i)
    message += (i == 0 ? "" : ", ") + nodes[i];
  if (nodes.size() > kMostNames)
    message += " and " + std::to_string(nodes.size() - kMostNames) + " more";
  parts_.log.write(level, message);
}

bool NodeIntake::is_agent_alive(const model::NodeInventory& inventory) const {
  return parts_.heartbeats == nullptr || !inventory.enforcement ||
         parts_.heartbeats->is_alive(inventory.name);
}

bool NodeIntake::put_in_ledger(model::NodeInventory inventory) {
  const base::MutexLock lock(ledger_writes_);
  inventory.agent_alive = is_agent_alive(inventory);
  return parts_.ledger.put_node(std::move(inventory));
}

model::NodeInventory NodeIntake::read_inventory(const model::NodeFacts& node) {
  model::NodeInventory inventory = codec::read_inventory(node, limits_);
  // A node whose MIG layout is being changed is not a problem: it would raise an alert.
  report_closure(node.name, inventory.closed_message,
                 inventory.closed_to_all != model::ReasonCode::kReconfiguring);
  return inventory;
}

void NodeIntake::report_closure(const std::string& node_name, const std::string& reason,
                                bool is_problem) {
  if (reason.empty()) {
    logged_closures_.erase(node_name);
  } else if (std::string& logged_reason = logged_closures_[node_name]; logged_reason != reason) {
    logged_reason = reason;
    if (is_problem) parts_.metrics.reservation_problem(ReservationProblem::kNodeClosed);
    parts_.log.write(LogLevel::kWarn, "node " + node_name + ": " + reason, {{"node", node_name}});
  }
  parts_.events.note(node_name, is_problem ? reason : std::string());
}

void NodeIntake::leave_out_node(model::NodeFacts node) {
  const bool is_left_out = left_out_nodes_.contains(node.name);
  if (!is_left_out && left_out_nodes_.size() >= static_cast<std::size_t>(limits_.max_nodes)) return;
  std::string node_name = node.name;
  left_out_nodes_.insert_or_assign(std::move(node_name), std::move(node));
}

void NodeIntake::fill_free_slots() {
  while (!left_out_nodes_.empty() &&
         put_in_ledger(read_inventory(left_out_nodes_.begin()->second))) {
    left_out_nodes_.erase(left_out_nodes_.begin());
  }
}

void NodeIntake::log_left_out() {
  if (left_out_nodes_.size() == std::exchange(logged_left_out_count_, left_out_nodes_.size()))
    return;
  if (left_out_nodes_.empty()) {
    parts_.log.write(LogLevel::kInfo, "all nodes are in the ledger again");
    return;
  }
  const bool all_counted = left_out_nodes_.size() < static_cast<std::size_t>(limits_.max_nodes);
  parts_.log.write(LogLevel::kError,
                   (all_counted ? "" : "at least ") + std::to_string(left_out_nodes_.size()) +
                       " nodes are not in the ledger: there are more than maxNodes (" +
                       std::to_string(limits_.max_nodes) + ")");
}

}  // namespace snug::service
