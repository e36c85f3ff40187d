#include "ledger/slots.hpp"

#include <algorithm>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/fit/usage.hpp"

namespace snug {

std::optional<NodeIndex> NodeSlots::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || slots_[found->second].inventory == nullptr) return std::nullopt;
  return NodeIndex{found->second};
}

const NodeStatePtr& NodeSlots::state(NodeIndex index) const { return slots_[index.value].state; }

std::vector<std::string> NodeSlots::names() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) {
    if (slot.inventory != nullptr) names.push_back(slot.name);
  }
  return names;
}

bool NodeSlots::put(NodeInventory inventory) {
  for (GpuInfo& gpu : inventory.gpus) {
    gpu.model_number = number_of(gpu.model);
    number_table(gpu);
  }
  const std::uint32_t slot = slot_of(inventory.name);
  if (slots_[slot].inventory != nullptr && *slots_[slot].inventory == inventory) return false;
  if (slots_[slot].inventory == nullptr) {
    index_ = nullptr;
    ++existing_;
  }
  set_inventory(slot, std::make_shared<const NodeInventory>(std::move(inventory)));
  refresh(slot);
  return true;
}

bool NodeSlots::remove(std::string_view name) {
  const std::optional<NodeIndex> found = find(name);
  if (!found) return false;
  set_inventory(found->value, nullptr);
  index_ = nullptr;
  --existing_;
  refresh(found->value);
  drop_if_unused(found->value);
  return true;
}

void NodeSlots::add(HoldingPtr holding) {
  const std::uint32_t slot = slot_of(holding->reservation.node);
  held_.add(holding->name_space, compute_held(*holding, slots_[slot].inventory.get()));
  slots_[slot].holdings.push_back(std::move(holding));
  refresh(slot);
}

void NodeSlots::remove(const Holding& holding) {
  const std::uint32_t slot = slot_of(holding.reservation.node);
  held_.add(holding.name_space, -compute_held(holding, slots_[slot].inventory.get()));
  std::erase_if(slots_[slot].holdings,
                [&](const HoldingPtr& other) { return other->uid == holding.uid; });
  refresh(slot);
  drop_if_unused(slot);
}

void NodeSlots::replace(const HoldingPtr& holding) {
  const std::uint32_t slot = slot_of(holding->reservation.node);
  for (HoldingPtr& other : slots_[slot].holdings) {
    if (other->uid == holding->uid) other = holding;
  }
  refresh(slot);
}

/// The units that the kubelet hands out are of as much as the inventory says.
void NodeSlots::set_inventory(std::uint32_t slot, std::shared_ptr<const NodeInventory> inventory) {
  ++inventories_.value;
  Slot& node = slots_[slot];
  for (const HoldingPtr& holding : node.holdings) {
    const MilliGpu before = compute_held(*holding, node.inventory.get());
    held_.add(holding->name_space, compute_held(*holding, inventory.get()) - before);
  }
  node.inventory = std::move(inventory);
}

NodeTable NodeSlots::table() {
  chunks_.resize((slots_.size() + NodeTable::kChunk - 1) / NodeTable::kChunk);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (chunks_[c] != nullptr) continue;
    auto chunk = std::make_shared<NodeTable::Chunk>();
    const std::size_t first = c * NodeTable::kChunk;
    const std::size_t count = std::min(NodeTable::kChunk, slots_.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      chunk->states[i] = slots_[first + i].state;
      chunk->versions[i] = slots_[first + i].version;
    }
    chunks_[c] = std::move(chunk);
  }
  return {chunks_, slots_.size()};
}

const std::shared_ptr<const NameIndex>& NodeSlots::name_index() {
  if (index_ == nullptr) {
    auto index = std::make_shared<NameIndex>();
    index->reserve(slots_.size());
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].inventory != nullptr) index->emplace(slots_[i].name, NodeIndex{i});
    }
    index_ = std::move(index);
  }
  return index_;
}

/// A number once given stays, so that nodes can come and go.
std::uint8_t NodeSlots::number_of(const std::string& model) {
  if (models_ == nullptr) models_ = std::make_shared<const std::vector<std::string>>(1);
  const auto found = std::ranges::find(models_->begin() + 1, models_->end(), model);
  const auto number = static_cast<std::size_t>(found - models_->begin());
  if (found != models_->end()) return static_cast<std::uint8_t>(number);
  if (number >= kMostModels) return 0;
  auto more = std::make_shared<std::vector<std::string>>(*models_);
  more->push_back(model);
  models_ = std::move(more);
  return static_cast<std::uint8_t>(number);
}

/// Equal tables become one.
void NodeSlots::number_table(GpuInfo& gpu) {
  if (!gpu.mig_table) return;
  if (mig_tables_ == nullptr) mig_tables_ = std::make_shared<const std::vector<MigTableRef>>(1);
  const auto found = std::find(mig_tables_->begin() + 1, mig_tables_->end(), gpu.mig_table);
  const auto number = static_cast<std::size_t>(found - mig_tables_->begin());
  if (found != mig_tables_->end()) {
    gpu.mig_table = *found;
  } else if (number < kMostMigTables) {
    auto more = std::make_shared<std::vector<MigTableRef>>(*mig_tables_);
    more->push_back(gpu.mig_table);
    mig_tables_ = std::move(more);
  } else {
    return;
  }
  gpu.mig_number = static_cast<std::uint8_t>(number);
}

std::uint32_t NodeSlots::slot_of(std::string_view name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  auto slot = static_cast<std::uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot].name = name;
  by_name_.emplace(name, slot);
  return slot;
}

void NodeSlots::refresh(std::uint32_t slot) {
  Slot& node = slots_[slot];
  node.state = node.inventory == nullptr ? nullptr : add_up(node.inventory, node.holdings);
  node.version = ++version_;
  const std::size_t chunk = slot / NodeTable::kChunk;
  if (chunk < chunks_.size()) chunks_[chunk] = nullptr;
}

void NodeSlots::drop_if_unused(std::uint32_t slot) {
  Slot& node = slots_[slot];
  if (node.inventory != nullptr || !node.holdings.empty()) return;
  by_name_.erase(node.name);
  node = Slot{};
  free_.push_back(slot);
}

}  // namespace snug
