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
  const auto is_gone = [&](const auto& closure) { return !listed_names.contains(closure.first); };
  std::erase_if(logged_closures_, is_gone);
  parts_.events.keep_only(listed_names);
  left_out_nodes_.clear();
  if (parts_.ledger.replace_nodes(std::move(inventories)) > 0) {
    const auto ledger_names = parts_.ledger.snapshot()->names;
    for (model::NodeFacts& node : nodes) {
      if (!ledger_names->contains(node.name)) leave_out_node(std::move(node));
    }
  }
  log_left_out();
}

void NodeIntake::put(model::NodeFacts node) {
  if (parts_.ledger.put_node(read_inventory(node))) {
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
  parts_.ledger.remove_node(node_name);
  fill_free_slots();
  log_left_out();
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
         parts_.ledger.put_node(read_inventory(left_out_nodes_.begin()->second))) {
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
