#include "snug/demand/supply.hpp"

#include <algorithm>
#include <map>
#include <utility>

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
    supply.most_gpus = std::max(supply.most_gpus, static_cast<std::int64_t>(inventory.gpus.size()));
    supply.most_cpu_milli = std::max(supply.most_cpu_milli, inventory.host.amounts.cpu_milli);
    supply.most_memory_mib =
        std::max(supply.most_memory_mib, inventory.host.amounts.memory_bytes >> 20);
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
  std::ranges::sort(supply.sizes, {},
                    [](const Supply::Size& size) { return std::pair(-size.gpus, size.memory); });
  if (supply.sizes.size() > kMostGpuSizes) supply.sizes.resize(kMostGpuSizes);
  return supply;
}

bool Supply::may_hold(const PodShape& shape) const {
  if (most_gpus == 0) return true;
  if (shape.gpus > most_gpus) return false;
  return most_cpu_milli == 0 ||
         (shape.cpu_milli <= most_cpu_milli && shape.memory_mib <= most_memory_mib);
}

}  // namespace snug
