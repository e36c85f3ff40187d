#include "snug/codec/inventory_codec.hpp"

#include <algorithm>

#include "codec/inventory_sources.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::codec {
namespace {

void read_pool(const model::NodeFacts& node, model::NodeInventory& inventory) {
  const auto pool_label = node.labels.find("snug.dev/pool");
  if (pool_label == node.labels.end()) return;
  if (const std::optional<model::Pool> pool = model::kPoolNames.find(pool_label->second)) {
    inventory.pool = *pool;
    return;
  }
  close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory,
                        "the label snug.dev/pool is " + base::in_quotes(pool_label->second) +
                            "; expected shares, whole or auto");
}

/// Takes from the GPUs what the enforcer cannot do: koordlet knows no MPS daemons. What depends on
/// the request is in fit/other_enforcer, and slices are in fit/mig_free.
void restrict_to_enforcer(model::NodeInventory& inventory) {
  if (inventory.other_enforcer != model::OtherEnforcer::kKoordlet) return;
  for (model::GpuInfo& gpu : inventory.gpus) std::erase(gpu.allowed_modes, model::GpuMode::kMps);
}

/// Reads the label of the node about other software that gives containers their GPUs. Annotated
/// pods alone need it.
void read_other_enforcer(const model::NodeFacts& node, model::NodeInventory& inventory) {
  const auto label = node.labels.find("snug.dev/enforcer");
  if (label == node.labels.end()) return;
  const std::string as_labelled =
      "the label snug.dev/enforcer is " + base::in_quotes(label->second);
  const auto close = [&](const std::string& because) {
    close_to_annotated_pods(inventory, model::ReasonCode::kBadInventory, as_labelled + because);
  };
  const auto enforcer = model::kOtherEnforcerNames.find(label->second);
  if (!enforcer) return close("; expected nvfractions or koordlet");
  if (inventory.enforcement) {
    return close(
        ", but the inventory is of a snug-agent, which gives containers their GPUs itself: remove "
        "the label or the agent");
  }
  const auto nameless = std::ranges::find_if(
      inventory.gpus, [](const model::GpuInfo& gpu) { return gpu.uuid.empty(); });
  if (enforcer == model::OtherEnforcer::kNvFractions && nameless != inventory.gpus.end()) {
    close(", which needs the uuid of each GPU, and the inventory states none of GPU " +
          std::to_string(nameless->index));
  }
  inventory.other_enforcer = enforcer;
  restrict_to_enforcer(inventory);
}

/// Whether what limits shares on the node limits each share that a GPU of it allows. MPS limits
/// none on a time-sliced GPU.
bool limits_every_share(const model::NodeInventory& inventory) {
  if (inventory.share_limits != model::ShareLimits::kMps)
    return inventory.share_limits != model::ShareLimits::kNone;
  return std::ranges::none_of(inventory.gpus, [](const model::GpuInfo& gpu) {
    const auto& modes = gpu.allowed_modes;
    return !gpu.mig_enabled &&
           std::ranges::find(modes, model::GpuMode::kTimeSlicing) != modes.end();
  });
}

void read_enforcement(const model::NodeFacts& node, model::NodeInventory& inventory) {
  inventory.enforces_shares = value_or_empty(node.labels, "snug.dev/enforced") == "true" &&
                              inventory.enforcement.value_or(model::Enforcement::kFailClosed) ==
                                  model::Enforcement::kFailClosed &&
                              limits_every_share(inventory);
}

}  // namespace

std::string model_name_rule() {
  return "1 to " + std::to_string(base::kMaxModelBytes) + " printable ASCII characters";
}

void close_to_all_gpu_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                           std::string because) {
  if (inventory.closed_to_all != model::ReasonCode::kNone) return;
  inventory.closed_to_all = reason;
  inventory.closed_message = std::move(because);
}

void close_to_annotated_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                             std::string because) {
  if (inventory.closed_to_annotated != model::ReasonCode::kNone) return;
  inventory.closed_to_annotated = reason;
  if (inventory.closed_message.empty()) inventory.closed_message = std::move(because);
}

std::string_view value_or_empty(const model::StringMap& labels, std::string_view key) {
  const auto label = labels.find(key);
  return label == labels.end() ? std::string_view{} : std::string_view{label->second};
}

base::Result<std::int64_t> read_label_number(const model::NodeFacts& node, std::string_view key,
                                             IntegerRange range) {
  const std::string_view label_text = value_or_empty(node.labels, key);
  const auto label_number = base::parse_integer(label_text);
  if (label_number && *label_number >= range.smallest && *label_number <= range.largest)
    return *label_number;
  const std::string label_in_words =
      node.labels.contains(key) ? base::in_quotes(label_text) : "missing";
  return base::fail(base::ErrorCode::kInvalid,
                    "the label " + base::printable_excerpt(key) + " is " + label_in_words +
                        "; it must be an integer from " + std::to_string(range.smallest) + " to " +
                        std::to_string(range.largest));
}

base::Result<std::int64_t> read_units(std::string_view resource, std::string_view text) {
  if (const std::optional<std::int64_t> units = request::parse_unit_count(text)) return *units;
  return base::fail(base::ErrorCode::kInvalid,
                    "the node's status gives " + base::printable_excerpt(resource) + " as " +
                        base::in_quotes(text) + "; it must be a whole number");
}

void read_kubelet_units(const model::NodeFacts& node, model::NodeInventory& inventory) {
  for (const model::StringMap* resource_list : {&node.allocatable, &node.capacity}) {
    for (const auto& [resource, quantity] : *resource_list) {
      if (!request::is_kubelet_gpu_resource(resource)) continue;
      const auto unit_count = read_units(resource, quantity);
      if (!unit_count)
        close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory,
                              unit_count.error().message);
      // `allocatable` is read first. If it has a count of the resource, emplace() keeps that count.
      inventory.kubelet_allocatable.emplace(resource, unit_count.value_or(0));
      std::int64_t& capacity_units = inventory.kubelet_capacity[resource];
      capacity_units = std::max(capacity_units, unit_count.value_or(0));
    }
  }
  if (!inventory.kubelet_allocatable.empty() || inventory.gpus.empty()) return;
  const auto offers_unit = [](const model::GpuInfo& gpu) { return !gpu.mig_enabled; };
  inventory.kubelet_capacity.emplace(model::kGpuResource,
                                     std::ranges::count_if(inventory.gpus, offers_unit));
  inventory.kubelet_allocatable.emplace(
      model::kGpuResource, std::ranges::count_if(inventory.gpus, [&](const model::GpuInfo& gpu) {
        return gpu.healthy && offers_unit(gpu);
      }));
}

model::NodeInventory read_inventory(const model::NodeFacts& node, const base::Limits& limits) {
  model::NodeInventory inventory;
  inventory.name = node.name;
  inventory.host = node.host;
  inventory.mirrored = node.mirrored;
  read_pool(node, inventory);
  close_while_reconfiguring(node, inventory);
  // Replicas are checked before the health of the GPUs, because the first reason is kept: an
  // unhealthy GPU can recover, but replicas stay until the operator removes them.
  if (advertises_replicas(node)) close_if_replicated(node, inventory);
  if (node.annotations.contains("snug.dev/inventory")) {
    read_inventory_annotation(node, limits, inventory);
  } else if (has_gfd_labels(node)) {
    read_gfd_labels(node, limits, inventory);
  } else {
    const bool offers_gpu_units = node.capacity.contains(model::kGpuResource);
    close_to_all_gpu_pods(inventory, model::ReasonCode::kNoGpu,
                          offers_gpu_units
                              ? "the node offers nvidia.com/gpu, but has neither the annotation "
                                "snug.dev/inventory nor the labels of GPU Feature Discovery"
                              : "");
  }
  read_usage_annotation(node, limits, inventory);
  read_other_enforcer(node, inventory);
  read_enforcement(node, inventory);
  read_kubelet_units(node, inventory);
  read_replicas(node, inventory);
  read_plugin_slices(node, inventory);
  read_expected_profiles(node, inventory);
  return inventory;
}

}  // namespace snug::codec
