#include "snug/demand/gpu_supply.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/model/model_patterns.hpp"

namespace snug::demand {

Supply supply_of(const model::Snapshot& snapshot) {
  Supply supply{.models = snapshot.models, .mig_tables = snapshot.mig_tables};
  std::map<base::MebiBytes, std::int64_t> gpus_by_memory;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const model::NodeInventory& inventory = *snapshot.nodes[slot]->inventory;
    if (inventory.gpus.empty()) continue;
    const model::HostResources& allocatable = inventory.host.resources;
    const std::int64_t cpu_milli = std::min(allocatable.cpu_milli, kMaxHostAmount);
    const std::int64_t memory_mib = std::min(allocatable.memory_bytes >> 20, kMaxHostAmount);
    supply.cpu_milli += cpu_milli;
    supply.memory_mib += memory_mib;
    supply.max_gpus_per_node =
        std::max(supply.max_gpus_per_node, static_cast<std::int64_t>(inventory.gpus.size()));
    supply.max_cpu_milli_per_node = std::max(supply.max_cpu_milli_per_node, cpu_milli);
    supply.max_memory_mib_per_node = std::max(supply.max_memory_mib_per_node, memory_mib);
    for (const model::GpuInfo& gpu : inventory.gpus) {
      ++supply.gpus;
      ++supply.gpus_by_model[gpu.model_id];
      base::MebiBytes& largest = supply.max_memory_by_model[gpu.model_id];
      largest = std::max(largest, gpu.memory);
      ++gpus_by_memory[gpu.memory];
      if (gpu.mig_enabled) ++supply.gpus_by_mig_table[gpu.mig_table_id];
    }
  }
  for (const auto& [memory, gpus] : gpus_by_memory) {
    if (memory.value > 0) supply.gpu_sizes.push_back({memory, gpus});
  }
  std::ranges::sort(supply.gpu_sizes, {},
                    [](const Supply::GpuSize& size) { return std::pair(-size.gpus, size.memory); });
  if (supply.gpu_sizes.size() > base::kMaxGpuSizes) supply.gpu_sizes.resize(base::kMaxGpuSizes);
  return supply;
}

model::ModelSet models_of(const PodShape& shape, const Supply& supply) {
  if (supply.models == nullptr) return model::kAnyModel;
  const model::ModelFilter filter{shape.included_models, shape.excluded_models};
  model::ModelSet serving_models = 0;
  bool all_serve = true;
  for (std::size_t i = 1; i < supply.models->size(); ++i) {
    const bool holds =
        shape.gpu_memory <= supply.max_memory_by_model[i] || supply.gpus_by_model[i] == 0;
    const bool serves = holds && filter.allows((*supply.models)[i]);
    if (serves) serving_models |= model::ModelSet{1} << i;
    all_serve = all_serve && serves;
  }
  if (all_serve) return model::kAnyModel;
  // A GPU whose model has no number could match the filter. Bit 0 stands for such GPUs and is set
  // if the cluster has any.
  return supply.gpus_by_model[0] > 0 ? serving_models | 1 : serving_models;
}

namespace {

/// Finds the profile `name` in the first MIG table that has it, and sets `table` to that table.
/// Null if no table has the profile.
const model::MigProfile* find_profile(const Supply& supply, const std::string& name,
                                      const model::MigTable*& table) {
  if (supply.mig_tables == nullptr) return nullptr;
  for (std::size_t i = 1; i < supply.mig_tables->size(); ++i) {
    table = (*supply.mig_tables)[i].pointer().get();
    if (const auto profile_index = table->find_profile(name))
      return &table->profiles[*profile_index];
  }
  return nullptr;
}

}  // namespace

std::int64_t Supply::total_milli(const PodShape& shape) const {
  const std::int64_t whole = shape.total_milli(most_common_memory());
  const model::MigTable* table = nullptr;
  const model::MigProfile* profile =
      shape.slice_count > 0 ? find_profile(*this, shape.mig_profile, table) : nullptr;
  if (profile == nullptr) return whole;
  return whole + shape.slice_count * base::kWholeGpu.value * profile->size / table->memory_slices;
}

/// MIG slices are not checked, because a device plug-in may offer slices that no table has.
bool Supply::can_hold(const PodShape& shape) const {
  if (max_gpus_per_node == 0) return true;
  if (shape.gpus > max_gpus_per_node || models_of(shape, *this) == 0) return false;
  return max_cpu_milli_per_node == 0 || (shape.host_cpu_milli <= max_cpu_milli_per_node &&
                                         shape.host_memory_mib <= max_memory_mib_per_node);
}

}  // namespace snug::demand
