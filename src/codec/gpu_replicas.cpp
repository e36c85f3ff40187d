#include <algorithm>

#include "codec/inventory_sources.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

std::int64_t unit_capacity(const model::NodeInventory& inventory, std::string_view resource) {
  const auto units = inventory.kubelet_capacity.find(resource);
  return units == inventory.kubelet_capacity.end() ? 0 : units->second;
}

}  // namespace

std::int64_t replicas_from_label(const model::NodeFacts& node, std::string_view key) {
  const std::int64_t replicas = base::parse_integer(value_or_empty(node.labels, key)).value_or(1);
  return replicas > kMaxReplicas ? 1 : std::max<std::int64_t>(1, replicas);
}

bool advertises_replicas(const model::NodeFacts& node) {
  if (replicas_from_label(node, kReplicasLabel) > 1) return true;
  const auto sharing_strategy = node.labels.find("nvidia.com/gpu.sharing-strategy");
  if (sharing_strategy != node.labels.end() &&
      (sharing_strategy->second == "time-slicing" || sharing_strategy->second == "mps")) {
    return true;
  }
  const auto shared_units = node.capacity.find(model::kSharedResource);
  return shared_units != node.capacity.end() &&
         read_units(model::kSharedResource, shared_units->second).value_or(0) > 0;
}

void close_if_replicated(const model::NodeFacts& node, model::NodeInventory& inventory) {
  if (inventory.pool == model::Pool::kShares) return;
  if (plugin_offers_only_slices(node)) return close_as_all_slices(inventory);
  close_to_annotated_pods(
      inventory, model::ReasonCode::kWrongMode,
      "the device plug-in offers each GPU of the node as several replicas; to run "
      "annotated pods, reserve the node for them with the label snug.dev/pool=shares");
}

void read_replicas(const model::NodeFacts& node, model::NodeInventory& inventory) {
  const bool has_mig_gpu = std::ranges::any_of(inventory.gpus, &model::GpuInfo::mig_enabled) ||
                           !mig_product(value_or_empty(node.labels, kProductLabel)).profile.empty();
  const auto gpu_count = static_cast<std::int64_t>(inventory.gpus.size());
  const std::int64_t unit_count = std::max(unit_capacity(inventory, model::kGpuResource),
                                           unit_capacity(inventory, model::kSharedResource));
  // Units and GPUs cannot be compared if the inventory is unreadable, because it then has no GPUs,
  // or if a GPU is in MIG mode, because a unit may then be a slice.
  const bool more_units = gpu_count > 0 && !has_mig_gpu && unit_count > gpu_count;
  if (more_units) close_if_replicated(node, inventory);
  inventory.replicas = replicas_from_label(node, kReplicasLabel);
  if (inventory.replicas > 1 || !(more_units || advertises_replicas(node)) || gpu_count == 0)
    return;
  inventory.replicas = std::max<std::int64_t>(1, unit_count / gpu_count);
}

}  // namespace snug::codec
