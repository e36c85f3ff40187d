#include "snug/service/offered_nodes.hpp"

#include <functional>
#include <utility>

#include "snug/plan/plan.hpp"

namespace snug::service {

OfferedNodesPtr OfferedNodes::make(const model::Snapshot& snapshot,
                                   std::span<const std::uint32_t> slots) {
  std::vector<bool> by_slot(snapshot.nodes.size());
  std::size_t count = 0;
  for (const std::uint32_t slot : slots) {
    if (slot == plan::kNoSlot || by_slot[slot]) continue;
    by_slot[slot] = true;
    ++count;
  }
  if (count >= snapshot.names->size()) return nullptr;
  return OfferedNodesPtr(new OfferedNodes(snapshot.names, std::move(by_slot)));
}

std::vector<std::uint32_t> OfferedNodes::slots_in(const model::Snapshot& snapshot) const {
  const bool are_same_slots = snapshot.names == names_;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node == nullptr) continue;
    std::size_t former_slot = slot;
    if (!are_same_slots) {
      const auto former = names_->find(node->name());
      if (!former) continue;
      former_slot = former->value;
    }
    if (former_slot < by_slot_.size() && by_slot_[former_slot]) slots.push_back(slot);
  }
  return slots;
}

std::size_t OfferedNodes::hash() const { return std::hash<std::vector<bool>>{}(by_slot_); }

}  // namespace snug::service
