#include "snug/codec/inventory.hpp"

#include <algorithm>

#include "codec/inventory_sources.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

void read_pool(const NodeFacts& node, NodeInventory& inventory) {
  const auto label = node.labels.find("snug.dev/pool");
  if (label == node.labels.end()) return;
  for (const Pool pool : {Pool::kAuto, Pool::kShares, Pool::kWhole}) {
    if (label->second == to_string(pool)) {
      inventory.pool = pool;
      return;
    }
  }
  close_to_all(inventory, ReasonCode::kBadInventory,
               "the label snug.dev/pool is " + in_quotes(label->second) +
                   "; allowed are shares, whole and auto");
}

}  // namespace

std::string model_rule() {
  return "1 to " + std::to_string(kMostModelBytes) + " printable ASCII characters";
}

void close_to_all(NodeInventory& inventory, ReasonCode reason, std::string because) {
  if (inventory.closed_to_all != ReasonCode::kNone) return;
  inventory.closed_to_all = reason;
  inventory.closed_because = std::move(because);
}

void close_to_annotated(NodeInventory& inventory, ReasonCode reason, std::string because) {
  if (inventory.closed_to_annotated != ReasonCode::kNone) return;
  inventory.closed_to_annotated = reason;
  if (inventory.closed_because.empty()) inventory.closed_because = std::move(because);
}

std::string_view value_of(const StringMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view{} : std::string_view{found->second};
}

Result<std::int64_t> read_number(const NodeFacts& node, std::string_view key, IntegerRange range) {
  const std::string_view text = value_of(node.labels, key);
  const auto number = parse_integer(text);
  if (number && *number >= range.smallest && *number <= range.largest) return *number;
  const std::string stands = node.labels.contains(key) ? in_quotes(text) : "missing";
  return fail(ErrorCode::kInvalid,
              "the label " + printable(key) + " is " + stands + "; it must be an integer from " +
                  std::to_string(range.smallest) + " to " + std::to_string(range.largest));
}

Result<std::int64_t> read_units(std::string_view resource, std::string_view text) {
  if (const std::optional<std::int64_t> units = parse_units(text)) return *units;
  return fail(ErrorCode::kInvalid, "the node's status gives " + printable(resource) + " as " +
                                       in_quotes(text) + "; it must be a whole number");
}

void read_kubelet_units(const NodeFacts& node, NodeInventory& inventory) {
  for (const StringMap* units : {&node.allocatable, &node.capacity}) {
    for (const auto& [resource, text] : *units) {
      if (!is_kubelet_resource(resource)) continue;
      const auto count = read_units(resource, text);
      if (!count) close_to_all(inventory, ReasonCode::kBadInventory, count.error().message);
      inventory.kubelet_units.emplace(resource, count.value_or(0));  // allocatable is read first
      std::int64_t& most = inventory.kubelet_capacity[resource];
      most = std::max(most, count.value_or(0));
    }
  }
  if (!inventory.kubelet_units.empty() || inventory.gpus.empty()) return;
  const auto takes_units = [](const GpuInfo& gpu) { return !gpu.mig; };
  inventory.kubelet_capacity.emplace(kGpuResource,
                                     std::ranges::count_if(inventory.gpus, takes_units));
  inventory.kubelet_units.emplace(kGpuResource,
                                  std::ranges::count_if(inventory.gpus, [&](const GpuInfo& g) {
                                    return g.healthy && takes_units(g);
                                  }));
}

NodeInventory read_inventory(const NodeFacts& node, const Limits& limits) {
  NodeInventory inventory;
  inventory.name = node.name;
  inventory.host = node.host;
  const auto enforced = node.labels.find("snug.dev/enforced");
  inventory.enforced = enforced != node.labels.end() && enforced->second == "true";
  read_pool(node, inventory);
  close_while_reconfiguring(node, inventory);
  // Before a GPU's illness can close it, which ends sooner.
  if (says_replicas(node)) close_where_replicated(node, inventory);
  if (node.annotations.contains("snug.dev/inventory")) {
    read_inventory_annotation(node, limits, inventory);
  } else if (has_gfd_labels(node)) {
    read_gfd_labels(node, limits, inventory);
  } else {
    const bool offers = node.capacity.contains(kGpuResource);
    close_to_all(inventory, ReasonCode::kNoGpu,
                 offers ? "the node offers nvidia.com/gpu, but has neither the annotation "
                          "snug.dev/inventory nor the labels of GPU Feature Discovery"
                        : "");
  }
  read_kubelet_units(node, inventory);
  read_replicas(node, inventory);
  read_plugin_slices(node, inventory);
  read_coming_profiles(node, inventory);
  return inventory;
}

}  // namespace snug
