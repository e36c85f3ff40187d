#include "snug/fit/tenant.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "snug/fit/pod_charge.hpp"
#include "snug/mig/catalog.hpp"

namespace snug {

std::vector<bool> kept_apart(const NodeState& node, const Tenant& tenant) {
  if (tenant.rules == nullptr || !tenant.rules->any_apart()) return {};
  std::vector<bool> apart;
  for (const HoldingPtr& holding : node.holdings) {
    if (holding->of_host_alone() || !tenant.apart_from(holding->name_space)) continue;
    for (const ReservedContainer& container : holding->reservation.containers) {
      const auto* devices = std::get_if<std::vector<ReservedDevice>>(&container.given);
      if (devices == nullptr) continue;
      for (const ReservedDevice& device : *devices) {
        if (const auto gpu = node.gpu_of(device)) {
          apart.resize(node.gpus.size());
          apart[*gpu] = true;
        }
      }
    }
  }
  return apart;
}

MilliGpu unit_compute(const NodeInventory& inventory, std::string_view resource) {
  const auto known = inventory.unit_milli.find(resource);
  if (known != inventory.unit_milli.end()) return known->second;
  if (resource.starts_with(kMigResource)) return {0};
  return {(kWholeGpu.value + inventory.replicas - 1) / inventory.replicas};
}

MilliGpu compute_held(const Holding& holding, const NodeInventory* inventory) {
  MilliGpu sum;
  std::map<std::pair<int, std::string_view>, PodCharge> by_gpu;
  const std::vector<ReservedContainer>& containers = holding.reservation.containers;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const ContainerKind kind = holding.kind_of(c);
    if (const auto* units = std::get_if<KubeletUnits>(&containers[c].given)) {
      if (inventory != nullptr) {
        sum.value += units->count * unit_compute(*inventory, units->resource).value;
      }
      continue;
    }
    for (const auto& device : std::get<std::vector<ReservedDevice>>(containers[c].given)) {
      const MilliGpu compute = device.mode == GpuMode::kWhole ? kWholeGpu : device.compute;
      by_gpu[{device.index, device.uuid}].add(kind, c, {.memory = {}, .compute = compute});
    }
  }
  for (const auto& [gpu, charge] : by_gpu) sum += charge.total().compute;
  return sum;
}

}  // namespace snug
