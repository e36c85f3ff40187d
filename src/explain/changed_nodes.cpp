#include "explain/changed_nodes.hpp"

#include <utility>

#include "snug/fit/node_usage.hpp"

namespace snug::explain {

ChangedNodes::ChangedNodes(const model::Snapshot& snapshot)
    : before_(snapshot), states_(snapshot.nodes.size()) {
  for (std::size_t slot = 0; slot < states_.size(); ++slot) states_[slot] = snapshot.nodes[slot];
}

ChangedNodes::ChangedNodes(const model::Snapshot& snapshot, std::span<const Slot> slots)
    : before_(snapshot), states_(snapshot.nodes.size()) {
  for (const Slot slot : slots) states_[slot] = snapshot.nodes[slot];
}

model::NodeStatePtr* ChangedNodes::find(std::string_view node) {
  const auto slot = before_.names->find(node);
  return slot && states_[slot->value] != nullptr ? &states_[slot->value] : nullptr;
}

void ChangedNodes::remove_pod(std::string_view node, std::string_view uid) {
  model::NodeStatePtr* const state = find(node);
  if (state == nullptr) return;
  std::vector<model::HoldingPtr> holdings = (*state)->holdings;
  std::erase_if(holdings, [&](const model::HoldingPtr& pod) { return pod->uid == uid; });
  *state = fit::with_holdings(**state, std::move(holdings));
}

void ChangedNodes::add_pod(std::string_view node, model::HoldingPtr pod) {
  model::NodeStatePtr* const state = find(node);
  if (state == nullptr) return;
  std::vector<model::HoldingPtr> holdings = (*state)->holdings;
  holdings.push_back(std::move(pod));
  *state = fit::with_holdings(**state, std::move(holdings));
}

model::Snapshot ChangedNodes::snapshot() const {
  model::Snapshot changed = before_;
  changed.nodes = model::NodeTable(states_);
  return changed;
}

}  // namespace snug::explain
