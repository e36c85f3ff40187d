#include "ledger/node_registry.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/fit/tenant.hpp"

namespace snug::ledger {
namespace {

/// A node state lists at most this many CPU-only pods, so that preemption can choose them. If there
/// are more, it has only their sums. A kubelet runs some hundred pods; a virtual-kubelet may have
/// thousands, which are too many to copy into every state. Not in base/limits.hpp, since no
/// operator needs to change it.
constexpr std::size_t kMaxListedCpuOnlyPods = 1'024;

/// Whether the inventories are equal apart from GpuInfo::load.
bool equal_except_loads(model::NodeInventory known, const model::NodeInventory& next) {
  if (known.gpus.size() != next.gpus.size()) return false;
  for (std::size_t i = 0; i < known.gpus.size(); ++i) known.gpus[i].load = next.gpus[i].load;
  return known == next;
}

}  // namespace

std::optional<base::NodeIndex> NodeRegistry::find(std::string_view name) const {
  const auto named_slot = by_name_.find(name);
  if (named_slot == by_name_.end() || slots_[named_slot->second].inventory == nullptr)
    return std::nullopt;
  return base::NodeIndex{named_slot->second};
}

const model::NodeStatePtr& NodeRegistry::state(base::NodeIndex index) const {
  return slots_[index.value].state;
}

std::shared_ptr<const model::NodeInventory> NodeRegistry::inventory(std::string_view name) const {
  const std::optional<base::NodeIndex> found = find(name);
  return found ? slots_[found->value].inventory : nullptr;
}

std::vector<std::string> NodeRegistry::names() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) {
    if (slot.inventory != nullptr) names.push_back(slot.name);
  }
  return names;
}

NodeRegistry::PutResult NodeRegistry::put(model::NodeInventory inventory) {
  for (model::GpuInfo& gpu : inventory.gpus) {
    gpu.model_id = model_id_of(gpu.model);
    assign_mig_table_id(gpu);
  }
  const std::uint32_t slot = slot_of(inventory.name);
  const model::NodeInventory* const known = slots_[slot].inventory.get();
  if (known != nullptr && *known == inventory) return PutResult::kEqual;
  if (known == nullptr) {
    index_ = nullptr;
    ++node_count_;
  }
  const bool same_capacity = known != nullptr && equal_except_loads(*known, inventory);
  auto next = std::make_shared<const model::NodeInventory>(std::move(inventory));
  if (same_capacity) {
    slots_[slot].inventory = std::move(next);
  } else {
    set_inventory(slot, std::move(next));
  }
  refresh_state(slot);
  return same_capacity ? PutResult::kLoadChanged : PutResult::kChanged;
}

bool NodeRegistry::remove(std::string_view name) {
  const std::optional<base::NodeIndex> found = find(name);
  if (!found) return false;
  set_inventory(found->value, nullptr);
  index_ = nullptr;
  --node_count_;
  refresh_state(found->value);
  free_slot_if_unused(found->value);
  return true;
}

void NodeRegistry::add(model::HoldingPtr holding) {
  const std::uint32_t slot = slot_of(holding->reservation.node);
  Slot& node = slots_[slot];
  if (holding->is_cpu_only()) {
    node.cpu_only_sum.add(*holding, 1);
    const std::string_view uid = holding->uid;
    node.cpu_only.emplace(uid, std::move(holding));
  } else {
    namespace_usage_.add(holding->name_space, fit::held_compute(*holding, node.inventory.get()));
    node.holdings.push_back(std::move(holding));
  }
  refresh_state(slot);
}

void NodeRegistry::remove(const model::Holding& holding) {
  const std::uint32_t slot = slot_of(holding.reservation.node);
  Slot& node = slots_[slot];
  if (holding.is_cpu_only()) {
    node.cpu_only_sum.add(holding, -1);
    node.cpu_only.erase(holding.uid);
  } else {
    namespace_usage_.add(holding.name_space, -fit::held_compute(holding, node.inventory.get()));
    std::erase_if(node.holdings,
                  [&](const model::HoldingPtr& other) { return other->uid == holding.uid; });
  }
  refresh_state(slot);
  free_slot_if_unused(slot);
}

void NodeRegistry::replace(const model::HoldingPtr& holding) {
  const std::uint32_t slot = slot_of(holding->reservation.node);
  Slot& node = slots_[slot];
  if (holding->is_cpu_only()) {
    const auto known_holding = node.cpu_only.find(holding->uid);
    node.cpu_only_sum.add(*known_holding->second, -1);
    node.cpu_only_sum.add(*holding, 1);
    node.cpu_only.erase(known_holding);
    node.cpu_only.emplace(holding->uid, holding);
  } else {
    for (model::HoldingPtr& other : node.holdings) {
      if (other->uid == holding->uid) other = holding;
    }
  }
  refresh_state(slot);
}

std::vector<std::string> NodeRegistry::gpu_pod_uids(std::string_view node) const {
  std::vector<std::string> uids;
  const auto named_slot = by_name_.find(node);
  if (named_slot == by_name_.end()) return uids;
  for (const model::HoldingPtr& holding : slots_[named_slot->second].holdings)
    uids.push_back(holding->uid);
  return uids;
}

std::int64_t NodeRegistry::gpu_holdings() const {
  std::int64_t count = 0;
  for (const Slot& slot : slots_) count += std::ssize(slot.holdings);
  return count;
}

/// Replaces the inventory, and updates namespace_usage_: the inventory determines how much of a
/// GPU one unit of an nvidia.com/* resource is.
void NodeRegistry::set_inventory(std::uint32_t slot,
                                 std::shared_ptr<const model::NodeInventory> inventory) {
  ++inventory_generation_.value;
  Slot& node = slots_[slot];
  for (const model::HoldingPtr& holding : node.holdings) {
    const base::MilliGpu before = fit::held_compute(*holding, node.inventory.get());
    namespace_usage_.add(holding->name_space,
                         fit::held_compute(*holding, inventory.get()) - before);
  }
  node.inventory = std::move(inventory);
}

model::NodeTable NodeRegistry::table() {
  chunks_.resize((slots_.size() + model::NodeTable::kChunkSize - 1) / model::NodeTable::kChunkSize);
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    if (chunks_[c] != nullptr) continue;
    auto chunk = std::make_shared<model::NodeTable::Chunk>();
    const std::size_t first = c * model::NodeTable::kChunkSize;
    const std::size_t count = std::min(model::NodeTable::kChunkSize, slots_.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      chunk->states[i] = slots_[first + i].state;
      chunk->versions[i] = slots_[first + i].version;
    }
    chunks_[c] = std::move(chunk);
  }
  return {chunks_, slots_.size()};
}

const std::shared_ptr<const model::NameIndex>& NodeRegistry::name_index() {
  if (index_ == nullptr) {
    auto new_index = std::make_shared<model::NameIndex>();
    new_index->reserve(slots_.size());
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].inventory != nullptr) new_index->emplace(slots_[i].name, base::NodeIndex{i});
    }
    index_ = std::move(new_index);
  }
  return index_;
}

/// The number of a GPU model. A number is never given to another model, even if all nodes with the
/// first model are gone. 0: all numbers are in use.
std::uint8_t NodeRegistry::model_id_of(const std::string& model) {
  if (models_ == nullptr) models_ = std::make_shared<const std::vector<std::string>>(1);
  const auto known_model = std::ranges::find(models_->begin() + 1, models_->end(), model);
  const auto model_id = static_cast<std::size_t>(known_model - models_->begin());
  if (known_model != models_->end()) return static_cast<std::uint8_t>(model_id);
  if (model_id >= model::kMaxModels) return 0;
  auto more = std::make_shared<std::vector<std::string>>(*models_);
  more->push_back(model);
  models_ = std::move(more);
  return static_cast<std::uint8_t>(model_id);
}

/// Sets the number of the GPU's MIG table. Equal tables get the same number and are stored once.
/// The number stays 0 if all numbers are in use.
void NodeRegistry::assign_mig_table_id(model::GpuInfo& gpu) {
  if (!gpu.mig_table) return;
  if (mig_tables_ == nullptr)
    mig_tables_ = std::make_shared<const std::vector<model::MigTableRef>>(1);
  const auto known_table = std::find(mig_tables_->begin() + 1, mig_tables_->end(), gpu.mig_table);
  const auto table_id = static_cast<std::size_t>(known_table - mig_tables_->begin());
  if (known_table != mig_tables_->end()) {
    gpu.mig_table = *known_table;
  } else if (table_id < base::kMaxMigTables) {
    auto more = std::make_shared<std::vector<model::MigTableRef>>(*mig_tables_);
    more->push_back(gpu.mig_table);
    mig_tables_ = std::move(more);
  } else {
    return;
  }
  gpu.mig_table_id = static_cast<std::uint8_t>(table_id);
}

std::uint32_t NodeRegistry::slot_of(std::string_view name) {
  if (const auto named_slot = by_name_.find(name); named_slot != by_name_.end())
    return named_slot->second;
  auto slot = static_cast<std::uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].name = name;
  by_name_.emplace(name, slot);
  return slot;
}

void NodeRegistry::CpuOnlySum::add(const model::Holding& holding, int sign) {
  cpu_milli += sign * WideAmount{holding.host.cpu_milli};
  memory_bytes += sign * WideAmount{holding.host.memory_bytes};
  mirrored.milli.value += sign * holding.mirrored.milli.value;
  mirrored.memory.value += sign * holding.mirrored.memory.value;
}

model::HostResources NodeRegistry::CpuOnlySum::host() const {
  constexpr WideAmount kMost = std::numeric_limits<std::int64_t>::max();
  return {.cpu_milli = static_cast<std::int64_t>(std::min(cpu_milli, kMost)),
          .memory_bytes = static_cast<std::int64_t>(std::min(memory_bytes, kMost))};
}

model::NodeStatePtr NodeRegistry::state_of(const Slot& node) {
  fit::CpuOnlyHoldings cpu_only_pods{.requested = node.cpu_only_sum.host(),
                                     .mirrored = node.cpu_only_sum.mirrored,
                                     .pod_count = std::ssize(node.cpu_only),
                                     .listed = {}};
  if (node.cpu_only.size() <= kMaxListedCpuOnlyPods) {
    cpu_only_pods.listed.reserve(node.cpu_only.size());
    for (const auto& [uid, holding] : node.cpu_only) cpu_only_pods.listed.push_back(holding);
  }
  return fit::build_node_state(node.inventory, node.holdings, cpu_only_pods);
}

void NodeRegistry::refresh_state(std::uint32_t slot) {
  if (in_batch_) {
    stale_slots_.push_back(slot);
    return;
  }
  Slot& node = slots_[slot];
  node.state = node.inventory == nullptr ? nullptr : state_of(node);
  node.version = ++last_version_;
  const std::size_t chunk = slot / model::NodeTable::kChunkSize;
  if (chunk < chunks_.size()) chunks_[chunk] = nullptr;
}

void NodeRegistry::end_batch() {
  in_batch_ = false;
  std::ranges::sort(stale_slots_);
  const auto twice = std::ranges::unique(stale_slots_);
  stale_slots_.erase(twice.begin(), twice.end());
  for (const std::uint32_t slot : stale_slots_) refresh_state(slot);
  stale_slots_.clear();
}

void NodeRegistry::free_slot_if_unused(std::uint32_t slot) {
  Slot& node = slots_[slot];
  if (node.inventory != nullptr || !node.holdings.empty() || !node.cpu_only.empty()) return;
  by_name_.erase(node.name);
  node = Slot{};
  free_slots_.push_back(slot);
}

}  // namespace snug::ledger
