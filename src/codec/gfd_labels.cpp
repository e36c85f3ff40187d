#include <algorithm>

#include "codec/inventory_sources.hpp"
#include "codec/json.hpp"
#include "codec/text.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

constexpr std::string_view kProduct = "nvidia.com/gpu.product";
constexpr std::string_view kCount = "nvidia.com/gpu.count";
constexpr std::string_view kMemory = "nvidia.com/gpu.memory";

std::string_view value_of(const StringMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view{} : std::string_view{found->second};
}

struct Labels {
  std::string_view product;
  std::int64_t count = 0;
  std::int64_t memory = 0;
  std::int64_t replicas = 1;  // at least 1
};

Result<std::int64_t> read_number(const NodeFacts& node, std::string_view key, IntegerRange range) {
  const std::string_view text = value_of(node.labels, key);
  const auto number = parse_integer(text);
  if (number && *number >= range.smallest && *number <= range.largest) return *number;
  const std::string stands = node.labels.contains(key) ? in_quotes(text) : "missing";
  return fail(ErrorCode::kInvalid,
              "the label " + std::string(key) + " is " + stands + "; it must be an integer from " +
                  std::to_string(range.smallest) + " to " + std::to_string(range.largest));
}

Result<Labels> read_labels(const NodeFacts& node, const Limits& limits) {
  Labels labels;
  labels.product = value_of(node.labels, kProduct);
  if (labels.product.ends_with("-SHARED")) labels.product.remove_suffix(7);
  if (labels.product.empty()) {
    return fail(ErrorCode::kInvalid,
                "the label nvidia.com/gpu.product is missing or empty; it must name the model");
  }
  const auto count = read_number(node, kCount, {1, limits.max_gpus_per_node});
  if (!count) return std::unexpected(count.error());
  const auto memory = read_number(node, kMemory, kPositive);
  if (!memory) return std::unexpected(memory.error());
  labels.count = *count;
  labels.memory = *memory;
  if (!value_of(node.labels, kReplicasLabel).empty()) {
    const auto replicas = read_number(node, kReplicasLabel, {0, kMostReplicas});
    if (!replicas) return std::unexpected(replicas.error());
    labels.replicas = std::max<std::int64_t>(1, *replicas);
  }
  return labels;
}

bool offers_slices(const NodeFacts& node) {
  return std::ranges::any_of(node.capacity, [](const auto& resource) {
    return resource.first.starts_with("nvidia.com/mig-") && resource.second != "0";
  });
}

/// Empty: the capacity agrees with the labels. `mixed`: GPUs in MIG mode are not part of it. A
/// device plug-in that renames its replicas leaves nvidia.com/gpu out, or at 0.
std::string check_capacity(const NodeFacts& node, const Labels& labels, bool mixed) {
  std::string_view offered;
  std::int64_t units = 0;
  for (const std::string_view resource : {kGpuResource, kSharedResource}) {
    const auto stated = node.capacity.find(resource);
    if (stated == node.capacity.end()) continue;
    const auto count = read_units(resource, stated->second);
    if (!count) return count.error().message;
    if (units > 0 && *count > 0) {
      return "the node's capacity has nvidia.com/gpu and nvidia.com/gpu.shared; the device plug-in "
             "offers one of the two";
    }
    if (offered.empty() || *count > 0) {
      offered = resource;
      units = *count;
    }
  }
  const std::int64_t expected = labels.count * labels.replicas;
  if (offered.empty() || units == expected || (mixed && units < expected)) return "";
  return "the node's capacity has " + std::to_string(units) + " " + std::string(offered) +
         ", but its labels say " + std::to_string(labels.count) + " GPUs with replicas " +
         std::to_string(labels.replicas);
}

/// Where the device plug-in withdrew units, a GPU is unhealthy and nobody says which.
void check_allocatable(const NodeFacts& node, NodeInventory& inventory) {
  for (const auto& [resource, text] : node.allocatable) {
    const auto capacity = node.capacity.find(resource);
    if (!is_kubelet_resource(resource) || capacity == node.capacity.end()) continue;
    const auto all = read_units(resource, capacity->second);
    const auto usable = read_units(resource, text);
    if (all && usable && *usable < *all) {
      close_to_annotated(inventory, ReasonCode::kUnhealthy,
                         "fewer " + resource +
                             " are allocatable than the node has: a GPU is unhealthy, and its "
                             "labels do not say which");
    }
  }
}

}  // namespace

bool has_gfd_labels(const NodeFacts& node) {
  return node.labels.contains(kProduct) || node.labels.contains(kCount) ||
         node.labels.contains(kMemory);
}

void read_gfd_labels(const NodeFacts& node, const Limits& limits, NodeInventory& inventory) {
  const auto labels = read_labels(node, limits);
  if (!labels) {
    close_to_all(inventory, ReasonCode::kBadInventory, labels.error().message);
    return;
  }
  const std::string_view strategy = value_of(node.labels, "nvidia.com/mig.strategy");
  const bool mixed = strategy == "mixed" && offers_slices(node);
  if (const std::string problem = check_capacity(node, *labels, mixed); !problem.empty()) {
    close_to_all(inventory, ReasonCode::kBadInventory, problem);
    return;
  }
  // Under `single` a node without MIG GPUs is labelled like any other; one with them counts slices,
  // as the product's suffix shows, and nothing says what GPUs are behind them.
  if (strategy == "single" && labels->product.find("-MIG-") != std::string_view::npos) {
    close_to_annotated(inventory, ReasonCode::kWrongMode,
                       "the device plug-in offers all GPUs of the node as MIG slices "
                       "(nvidia.com/mig.strategy=single)");
    return;
  }
  if (mixed) {
    close_to_annotated(inventory, ReasonCode::kWrongMode,
                       "the device plug-in offers MIG slices of the node's GPUs "
                       "(nvidia.com/mig.strategy=mixed)");
  }
  check_allocatable(node, inventory);
  for (int i = 0; i < labels->count; ++i) {
    GpuInfo gpu;
    gpu.index = i;
    gpu.model = labels->product;
    gpu.memory = {labels->memory};
    gpu.modes = default_modes();
    inventory.gpus.push_back(std::move(gpu));
  }
}

}  // namespace snug
