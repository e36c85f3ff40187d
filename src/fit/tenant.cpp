#include "snug/fit/tenant.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/fit/pod_charge.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::fit {

Tenant tenant_of(std::string_view name_space, const model::SharingRules& sharing,
                 const model::NamespaceUsage& held) {
  Tenant tenant{.name_space = name_space, .rules = &sharing};
  if (const auto& cap = sharing.rule_for(name_space).cap) {
    tenant.cap_remaining = cap->value - held.of(name_space).value;
  }
  return tenant;
}

std::vector<bool> isolated_gpus(const model::NodeState& node, const Tenant& tenant) {
  if (tenant.rules == nullptr || !tenant.rules->isolates_any_namespace()) return {};
  std::vector<bool> isolated;
  for (const model::HoldingPtr& holding : node.holdings) {
    if (holding->is_cpu_only() || !tenant.is_isolated_from(holding->name_space)) continue;
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      for (const model::ReservedDevice& device : container.devices()) {
        if (const auto gpu = node.find_gpu(device)) {
          isolated.resize(node.gpus.size());
          isolated[*gpu] = true;
        }
      }
    }
  }
  return isolated;
}

base::MilliGpu unit_compute(const model::NodeInventory& inventory, std::string_view resource) {
  const auto unit_milli = inventory.milli_per_unit.find(resource);
  if (unit_milli != inventory.milli_per_unit.end()) return unit_milli->second;
  if (resource.starts_with(mig::kMigResourcePrefix)) return {0};
  return {(base::kWholeGpu.value + inventory.replicas - 1) / inventory.replicas};
}

Charge held_charge(const model::Holding& holding, const model::NodeInventory* inventory) {
  Charge sum;
  std::map<std::pair<int, std::string_view>, PodCharge> by_gpu;
  const std::vector<model::ReservedContainer>& containers = holding.reservation.containers;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const model::ContainerType container_type = holding.container_type(c);
    if (const auto* units = std::get_if<model::KubeletUnits>(&containers[c].assigned)) {
      if (inventory != nullptr) {
        sum.compute.value += units->count * unit_compute(*inventory, units->resource).value;
      }
      continue;
    }
    for (const model::ReservedDevice& device : containers[c].devices()) {
      const base::MilliGpu compute =
          device.mode == model::GpuMode::kWhole ? base::kWholeGpu : device.compute;
      by_gpu[{device.index, device.uuid}].add(container_type, c,
                                              {.memory = device.memory, .compute = compute});
    }
  }
  for (const auto& [gpu, charge] : by_gpu) sum += charge.total();
  return sum;
}

base::MilliGpu held_compute(const model::Holding& holding, const model::NodeInventory* inventory) {
  return held_charge(holding, inventory).compute;
}

}  // namespace snug::fit
