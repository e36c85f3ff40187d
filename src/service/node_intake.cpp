#include "service/node_intake.hpp"

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
  std::erase_if(logged_closures_, [&](const auto& logged_closure) {
    return !listed_names.contains(logged_closure.first);
  });
  left_out_nodes_.clear();
  if (ledger_.replace_nodes(std::move(inventories)) > 0) {
    const auto ledger_names = ledger_.snapshot()->names;
    for (model::NodeFacts& node : nodes) {
      if (!ledger_names->contains(node.name)) leave_out_node(std::move(node));
    }
  }
  log_left_out();
}

void NodeIntake::put(model::NodeFacts node) {
  if (ledger_.put_node(read_inventory(node))) {
    left_out_nodes_.erase(node.name);
  } else {
    leave_out_node(std::move(node));
  }
  log_left_out();
}

void NodeIntake::remove(std::string_view node_name) {
  logged_closures_.erase(std::string(node_name));
  left_out_nodes_.erase(std::string(node_name));
  ledger_.remove_node(node_name);
  fill_free_slots();
  log_left_out();
}

model::NodeInventory NodeIntake::read_inventory(const model::NodeFacts& node) {
  model::NodeInventory inventory = codec::read_inventory(node, limits_);
  if (inventory.closed_message.empty()) {
    logged_closures_.erase(node.name);
    return inventory;
  }
  std::string& logged_reason = logged_closures_[node.name];
  if (logged_reason != inventory.closed_message) {
    logged_reason = inventory.closed_message;
    // A node whose MIG layout is being changed is not counted as a problem, since the count would
    // raise an alert.
    if (inventory.closed_to_all != model::ReasonCode::kReconfiguring) {
      metrics_.reservation_problem(ReservationProblem::kNodeClosed);
    }
    log_.write(LogLevel::kWarn, "node " + node.name + ": " + logged_reason);
  }
  return inventory;
}

void NodeIntake::leave_out_node(model::NodeFacts node) {
  const bool is_left_out = left_out_nodes_.contains(node.name);
  if (!is_left_out && left_out_nodes_.size() >= static_cast<std::size_t>(limits_.max_nodes)) return;
  std::string node_name = node.name;
  left_out_nodes_.insert_or_assign(std::move(node_name), std::move(node));
}

void NodeIntake::fill_free_slots() {
  while (!left_out_nodes_.empty() &&
         ledger_.put_node(read_inventory(left_out_nodes_.begin()->second))) {
    left_out_nodes_.erase(left_out_nodes_.begin());
  }
}

void NodeIntake::log_left_out() {
  if (left_out_nodes_.size() == std::exchange(logged_left_out_count_, left_out_nodes_.size()))
    return;
  if (left_out_nodes_.empty()) {
    log_.write(LogLevel::kInfo, "all nodes are in the ledger again");
    return;
  }
  const bool all_counted = left_out_nodes_.size() < static_cast<std::size_t>(limits_.max_nodes);
  log_.write(LogLevel::kError, (all_counted ? "" : "at least ") +
                                   std::to_string(left_out_nodes_.size()) +
                                   " nodes are not in the ledger: there are more than maxNodes (" +
                                   std::to_string(limits_.max_nodes) + ")");
}

}  // namespace snug::service
