#include "ledger/slots.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/fit/usage.hpp"

namespace snug {
namespace {

/// A state lists up to this many pods without GPUs, which preemption may choose; beyond that it has
/// only their sums. A kubelet has some hundred pods. A virtual-kubelet may have thousands, which
/// must not be copied into every state. Not in base/limits.hpp, since no operator would change it.
constexpr std::size_t kMostHostsListed = 1'024;

}  // namespace

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
  Slot& node = slots_[slot];
  if (holding->of_host_alone()) {
    node.hosts_use.add(holding->host, 1);
    const std::string_view uid = holding->uid;
    node.hosts.emplace(uid, std::move(holding));
  } else {
    held_.add(holding->name_space, compute_held(*holding, node.inventory.get()));
    node.holdings.push_back(std::move(holding));
  }
  refresh(slot);
}

void NodeSlots::remove(const Holding& holding) {
  const std::uint32_t slot = slot_of(holding.reservation.node);
  Slot& node = slots_[slot];
  if (holding.of_host_alone()) {
    node.hosts_use.add(holding.host, -1);
    node.hosts.erase(holding.uid);
  } else {
    held_.add(holding.name_space, -compute_held(holding, node.inventory.get()));
    std::erase_if(node.holdings,
                  [&](const HoldingPtr& other) { return other->uid == holding.uid; });
  }
  refresh(slot);
  drop_if_unused(slot);
}

void NodeSlots::replace(const HoldingPtr& holding) {
  const std::uint32_t slot = slot_of(holding->reservation.node);
  Slot& node = slots_[slot];
  if (holding->of_host_alone()) {
    const auto known = node.hosts.find(holding->uid);
    node.hosts_use.add(known->second->host, -1);
    node.hosts_use.add(holding->host, 1);
    node.hosts.erase(known);
    node.hosts.emplace(holding->uid, holding);
  } else {
    for (HoldingPtr& other : node.holdings) {
      if (other->uid == holding->uid) other = holding;
    }
  }
  refresh(slot);
}

std::vector<std::string> NodeSlots::with_gpus(std::string_view node) const {
  std::vector<std::string> uids;
  const auto found = by_name_.find(node);
  if (found == by_name_.end()) return uids;
  for (const HoldingPtr& holding : slots_[found->second].holdings) uids.push_back(holding->uid);
  return uids;
}

/// The inventory says what part of a GPU each of the kubelet's units is.
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

/// A number stays assigned to its model, so that nodes may come and go.
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

/// Equal tables get the same number and are stored once.
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

void NodeSlots::HostSum::add(const HostAmounts& amounts, int sign) {
  cpu_milli += sign * Wide{amounts.cpu_milli};
  memory_bytes += sign * Wide{amounts.memory_bytes};
}

HostAmounts NodeSlots::HostSum::amounts() const {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return {.cpu_milli = static_cast<std::int64_t>(std::min(cpu_milli, kMost)),
          .memory_bytes = static_cast<std::int64_t>(std::min(memory_bytes, kMost))};
}

NodeStatePtr NodeSlots::state_of(const Slot& node) {
  HostHoldings hosts{
      .used = node.hosts_use.amounts(), .pods = std::ssize(node.hosts), .listed = {}};
  if (node.hosts.size() <= kMostHostsListed) {
    hosts.listed.reserve(node.hosts.size());
    for (const auto& [uid, holding] : node.hosts) hosts.listed.push_back(holding);
  }
  return add_up(node.inventory, node.holdings, hosts);
}

void NodeSlots::refresh(std::uint32_t slot) {
  if (in_batch_) {
    stale_.push_back(slot);
    return;
  }
  Slot& node = slots_[slot];
  node.state = node.inventory == nullptr ? nullptr : state_of(node);
  node.version = ++version_;
  const std::size_t chunk = slot / NodeTable::kChunk;
  if (chunk < chunks_.size()) chunks_[chunk] = nullptr;
}

void NodeSlots::end_batch() {
  in_batch_ = false;
  std::ranges::sort(stale_);
  const auto twice = std::ranges::unique(stale_);
  stale_.erase(twice.begin(), twice.end());
  for (const std::uint32_t slot : stale_) refresh(slot);
  stale_.clear();
}

void NodeSlots::drop_if_unused(std::uint32_t slot) {
  Slot& node = slots_[slot];
  if (node.inventory != nullptr || !node.holdings.empty() || !node.hosts.empty()) return;
  by_name_.erase(node.name);
  node = Slot{};
  free_.push_back(slot);
}

}  // namespace snug
