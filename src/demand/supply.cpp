#include "snug/demand/supply.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/model/glob.hpp"

namespace snug {

Supply supply_of(const Snapshot& snapshot) {
  Supply supply{.models = snapshot.models, .mig_tables = snapshot.mig_tables};
  std::map<MebiBytes, std::int64_t> sizes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const NodeInventory& inventory = *snapshot.nodes[slot]->inventory;
    if (inventory.gpus.empty()) continue;
    const HostAmounts& has = inventory.host.amounts;
    const std::int64_t cpu_milli = std::min(has.cpu_milli, kMostOfHost);
    const std::int64_t memory_mib = std::min(has.memory_bytes >> 20, kMostOfHost);
    supply.cpu_milli += cpu_milli;
    supply.memory_mib += memory_mib;
    supply.most_gpus = std::max(supply.most_gpus, static_cast<std::int64_t>(inventory.gpus.size()));
    supply.most_cpu_milli = std::max(supply.most_cpu_milli, cpu_milli);
    supply.most_memory_mib = std::max(supply.most_memory_mib, memory_mib);
    for (const GpuInfo& gpu : inventory.gpus) {
      ++supply.gpus;
      ++supply.by_model[gpu.model_number];
      MebiBytes& largest = supply.memory_by_model[gpu.model_number];
      largest = std::max(largest, gpu.memory);
      ++sizes[gpu.memory];
      if (gpu.mig) ++supply.by_mig_table[gpu.mig_number];
    }
  }
  for (const auto& [memory, gpus] : sizes) {
    if (memory.value > 0) supply.sizes.push_back({memory, gpus});
  }
  std::ranges::sort(supply.sizes, {},
                    [](const Supply::Size& size) { return std::pair(-size.gpus, size.memory); });
  if (supply.sizes.size() > kMostGpuSizes) supply.sizes.resize(kMostGpuSizes);
  return supply;
}

ModelSet models_of(const PodShape& shape, const Supply& supply) {
  if (supply.models == nullptr) return kAnyModel;
  const ModelFilter filter{shape.wanted, shape.excluded};
  ModelSet set = 0;
  bool all = true;
  for (std::size_t i = 1; i < supply.models->size(); ++i) {
    const bool holds = shape.gpu_memory <= supply.memory_by_model[i] || supply.by_model[i] == 0;
    const bool may = holds && filter.allows((*supply.models)[i]);
    if (may) set |= ModelSet{1} << i;
    all = all && may;
  }
  if (all) return kAnyModel;
  // A model without a number may match the filter.
  return supply.by_model[0] > 0 ? set | 1 : set;
}

namespace {

/// On the first card that has the profile; null: none has it.
const MigProfile* profile_named(const Supply& supply, const std::string& name,
                                const MigTable*& table) {
  if (supply.mig_tables == nullptr) return nullptr;
  for (std::size_t i = 1; i < supply.mig_tables->size(); ++i) {
    table = (*supply.mig_tables)[i].pointer().get();
    if (const auto found = table->find(name)) return &table->profiles[*found];
  }
  return nullptr;
}

}  // namespace

std::int64_t Supply::milli(const PodShape& shape) const {
  const std::int64_t whole = shape.milli(most_common_memory());
  const MigTable* table = nullptr;
  const MigProfile* profile =
      shape.slices > 0 ? profile_named(*this, shape.mig_profile, table) : nullptr;
  if (profile == nullptr) return whole;
  return whole + shape.slices * kWholeGpu.value * profile->size / table->axis;
}

/// MIG slices always count as possible: a device plug-in may offer some that no table has.
bool Supply::may_hold(const PodShape& shape) const {
  if (most_gpus == 0) return true;
  if (shape.gpus > most_gpus || models_of(shape, *this) == 0) return false;
  return most_cpu_milli == 0 ||
         (shape.cpu_milli <= most_cpu_milli && shape.memory_mib <= most_memory_mib);
}

}  // namespace snug
