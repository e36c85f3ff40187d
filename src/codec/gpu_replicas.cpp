#include <algorithm>

#include "codec/inventory_sources.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"

namespace snug {
namespace {

std::int64_t most_units(const NodeInventory& inventory, std::string_view resource) {
  const auto units = inventory.kubelet_capacity.find(resource);
  return units == inventory.kubelet_capacity.end() ? 0 : units->second;
}

}  // namespace

std::int64_t replicas_label(const NodeFacts& node, std::string_view key) {
  const std::int64_t replicas = parse_integer(value_of(node.labels, key)).value_or(1);
  return replicas > kMostReplicas ? 1 : std::max<std::int64_t>(1, replicas);
}

bool says_replicas(const NodeFacts& node) {
  if (replicas_label(node, kReplicasLabel) > 1) return true;
  const auto strategy = node.labels.find("nvidia.com/gpu.sharing-strategy");
  if (strategy != node.labels.end() &&
      (strategy->second == "time-slicing" || strategy->second == "mps")) {
    return true;
  }
  const auto shared = node.capacity.find(kSharedResource);
  return shared != node.capacity.end() &&
         read_units(kSharedResource, shared->second).value_or(0) > 0;
}

void close_where_replicated(const NodeFacts& node, NodeInventory& inventory) {
  if (inventory.pool == Pool::kShares) return;
  if (offers_all_as_slices(node)) return close_where_all_slices(inventory);
  close_to_annotated(
      inventory, ReasonCode::kWrongMode,
      "the device plug-in offers each GPU of the node as several replicas; annotated "
      "pods may come where the node is taken from the kubelet, which the label "
      "snug.dev/pool=shares says");
}

void read_replicas(const NodeFacts& node, NodeInventory& inventory) {
  const bool any_mig = std::ranges::any_of(inventory.gpus, &GpuInfo::mig) ||
                       !mig_product(value_of(node.labels, kProductLabel)).profile.empty();
  const auto gpus = static_cast<std::int64_t>(inventory.gpus.size());
  const std::int64_t units =
      std::max(most_units(inventory, kGpuResource), most_units(inventory, kSharedResource));
  // The GPUs of a node whose inventory cannot be read are none, and units of GPUs in MIG mode may
  // be slices.
  const bool more_units = gpus > 0 && !any_mig && units > gpus;
  if (more_units) close_where_replicated(node, inventory);
  inventory.replicas = replicas_label(node, kReplicasLabel);
  if (inventory.replicas > 1 || !(more_units || says_replicas(node)) || gpus == 0) return;
  inventory.replicas = std::max<std::int64_t>(1, units / gpus);
}

}  // namespace snug
