#include "snug/demand/supply.hpp"

#include <algorithm>
#include <map>

#include "snug/base/limits.hpp"

namespace snug {

Supply supply_of(const Snapshot& snapshot) {
  Supply supply{.models = snapshot.models};
  std::map<MebiBytes, std::int64_t> sizes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const NodeInventory& inventory = *snapshot.nodes[slot]->inventory;
    if (inventory.gpus.empty()) continue;
    supply.cpu_milli += inventory.host.amounts.cpu_milli;
    supply.memory_mib += inventory.host.amounts.memory_bytes >> 20;
    for (const GpuInfo& gpu : inventory.gpus) {
      ++supply.gpus;
      ++supply.by_model[gpu.model_number];
      MebiBytes& largest = supply.memory_by_model[gpu.model_number];
      largest = std::max(largest, gpu.memory);
      ++sizes[gpu.memory];
    }
  }
  for (const auto& [memory, gpus] : sizes) {
    if (memory.value > 0) supply.sizes.push_back({memory, gpus});
  }
  std::ranges::stable_sort(supply.sizes, std::ranges::greater{}, &Supply::Size::gpus);
  if (supply.sizes.size() > kMostGpuSizes) supply.sizes.resize(kMostGpuSizes);
  return supply;
}

}  // namespace snug
