#include "service/node_intake.hpp"

#include <unordered_set>
#include <utility>

#include "snug/codec/inventory_codec.hpp"

namespace snug::service {

void NodeIntake::replace(std::vector<model::NodeFacts> nodes) {
  std::vector<model::NodeInventory> inventories;
  inventories.reserve(nodes.size());
  std::unordered_set<std::string_view> listed;
  for (const model::NodeFacts& node : nodes) {
    inventories.push_back(read(node));
    listed.insert(node.name);
  }
  std::erase_if(logged_closed_, [&](const auto& row) { return !listed.contains(row.first); });
  left_out_.clear();
  if (ledger_.replace_nodes(std::move(inventories)) > 0) {
    const auto names = ledger_.snapshot()->names;
    for (model::NodeFacts& node : nodes) {
      if (!names->contains(node.name)) leave_out(std::move(node));
    }
  }
  log_left_out();
}

void NodeIntake::put(model::NodeFacts node) {
  if (ledger_.put_node(read(node))) {
    left_out_.erase(node.name);
  } else {
    leave_out(std::move(node));
  }
  log_left_out();
}

void NodeIntake::remove(std::string_view name) {
  logged_closed_.erase(std::string(name));
  left_out_.erase(std::string(name));
  ledger_.remove_node(name);
  fill_free_slots();
  log_left_out();
}

model::NodeInventory NodeIntake::read(const model::NodeFacts& node) {
  model::NodeInventory inventory = codec::read_inventory(node, limits_);
  if (inventory.closed_message.empty()) {
    logged_closed_.erase(node.name);
    return inventory;
  }
  std::string& logged = logged_closed_[node.name];
  if (logged != inventory.closed_message) {
    logged = inventory.closed_message;
    // A node whose MIG layout is being changed is not counted as a problem, since the count would
    // raise an alert.
    if (inventory.closed_to_all != model::ReasonCode::kReconfiguring) {
      metrics_.reservation_problem(ReservationProblem::kNodeClosed);
    }
    log_.write(LogLevel::kWarn, "node " + node.name + ": " + logged);
  }
  return inventory;
}

void NodeIntake::leave_out(model::NodeFacts node) {
  const bool known = left_out_.contains(node.name);
  if (!known && left_out_.size() >= static_cast<std::size_t>(limits_.max_nodes)) return;
  std::string name = node.name;
  left_out_.insert_or_assign(std::move(name), std::move(node));
}

void NodeIntake::fill_free_slots() {
  while (!left_out_.empty() && ledger_.put_node(read(left_out_.begin()->second))) {
    left_out_.erase(left_out_.begin());
  }
}

void NodeIntake::log_left_out() {
  if (left_out_.size() == std::exchange(logged_left_out_, left_out_.size())) return;
  if (left_out_.empty()) {
    log_.write(LogLevel::kInfo, "all nodes are in the ledger again");
    return;
  }
  const bool all_counted = left_out_.size() < static_cast<std::size_t>(limits_.max_nodes);
  log_.write(LogLevel::kError, (all_counted ? "" : "at least ") + std::to_string(left_out_.size()) +
                                   " nodes are not in the ledger: there are more than maxNodes (" +
                                   std::to_string(limits_.max_nodes) + ")");
}

}  // namespace snug::service
