#include <algorithm>
#include <utility>

#include "codec/inventory_sources.hpp"
#include "codec/json.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"
#include "snug/model/glob.hpp"
#include "snug/model/mig.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

constexpr std::string_view kCount = "nvidia.com/gpu.count";

enum class Strategy : std::uint8_t { kNone, kSingle, kMixed };
constexpr EnumNames kStrategyNames{std::array{EnumName{Strategy::kNone, "none"},
                                              EnumName{Strategy::kSingle, "single"},
                                              EnumName{Strategy::kMixed, "mixed"}}};

struct Labels {
  Strategy strategy = Strategy::kNone;
  MigProduct product;
  std::int64_t count = 0;  // of GPUs; of slices, where the product names a profile
  std::int64_t memory = 0;
  std::int64_t replicas = 1;  // at least 1
  bool no_replicas = false;   // what GPU Feature Discovery says of GPUs in MIG mode

  [[nodiscard]] bool slices() const { return !product.profile.empty(); }
};

Result<Strategy> read_strategy(const NodeFacts& node) {
  const std::string_view text = value_of(node.labels, kStrategyLabel);
  if (text.empty()) return Strategy::kNone;
  if (const auto strategy = kStrategyNames.find(text)) return *strategy;
  return fail(ErrorCode::kInvalid, "the label nvidia.com/mig.strategy is " + in_quotes(text) +
                                       "; allowed are none, single and mixed");
}

Result<MigProduct> read_product(const NodeFacts& node, Strategy strategy) {
  const MigProduct product = mig_product(value_of(node.labels, kProductLabel));
  if (product.model.empty()) {
    return fail(ErrorCode::kInvalid,
                "the label nvidia.com/gpu.product is missing or empty; it must name the model");
  }
  if (!is_model(product.model)) {
    return fail(ErrorCode::kInvalid, "the label nvidia.com/gpu.product is " +
                                         in_quotes(product.model) + "; a model has " +
                                         model_rule());
  }
  if (product.invalid()) {
    return fail(ErrorCode::kInvalid,
                "the label nvidia.com/gpu.product ends in -MIG-INVALID: under the MIG strategy "
                "single all GPUs of a node must be in MIG mode, with slices of one profile, or "
                "none of them");
  }
  if (!product.profile.empty() && strategy != Strategy::kSingle) {
    return fail(ErrorCode::kInvalid,
                "the label nvidia.com/gpu.product names a MIG profile, but nvidia.com/mig.strategy "
                "is not single");
  }
  return product;
}

Result<Labels> read_labels(const NodeFacts& node, const Limits& limits) {
  Labels labels;
  const auto strategy = read_strategy(node);
  if (!strategy) return std::unexpected(strategy.error());
  labels.strategy = *strategy;
  const auto product = read_product(node, labels.strategy);
  if (!product) return std::unexpected(product.error());
  labels.product = *product;
  const std::int64_t each = labels.slices() ? kMostAxisSlices : 1;
  const auto count = read_number(node, kCount, {1, limits.max_gpus_per_node * each});
  if (!count) return std::unexpected(count.error());
  const auto memory = read_number(node, kMemoryLabel, kPositive);
  if (!memory) return std::unexpected(memory.error());
  labels.count = *count;
  labels.memory = *memory;
  if (!value_of(node.labels, kReplicasLabel).empty()) {
    const auto replicas = read_number(node, kReplicasLabel, {0, kMostReplicas});
    if (!replicas) return std::unexpected(replicas.error());
    labels.replicas = std::max<std::int64_t>(1, *replicas);
    labels.no_replicas = *replicas == 0;
  }
  return labels;
}

struct Offered {
  std::string_view resource;  // empty: the capacity says nothing of GPUs
  std::int64_t units = 0;
};

/// A device plug-in that renames its replicas leaves nvidia.com/gpu out, or at 0.
Result<Offered> read_offered(const NodeFacts& node) {
  Offered offered;
  for (const std::string_view resource : {kGpuResource, kSharedResource}) {
    const auto stated = node.capacity.find(resource);
    if (stated == node.capacity.end()) continue;
    const auto count = read_units(resource, stated->second);
    if (!count) return std::unexpected(count.error());
    if (offered.units > 0 && *count > 0) {
      return fail(ErrorCode::kInvalid,
                  "the node's capacity has nvidia.com/gpu and nvidia.com/gpu.shared; the device "
                  "plug-in offers one of the two");
    }
    if (offered.resource.empty() || *count > 0) offered = {resource, *count};
  }
  return offered;
}

/// Empty: the capacity agrees with the labels. Under `mixed` GPUs in MIG mode are not part of it.
std::string check_capacity(const Offered& offered, const Labels& labels) {
  const std::int64_t expected = labels.count * labels.replicas;
  const bool mixed = labels.strategy == Strategy::kMixed;
  if (offered.resource.empty() || offered.units == expected ||
      (mixed && offered.units < expected)) {
    return "";
  }
  return "the node's capacity has " + std::to_string(offered.units) + " " +
         std::string(offered.resource) + ", but its labels say " + std::to_string(labels.count) +
         (labels.slices() ? " slices" : " GPUs") + " with replicas " +
         std::to_string(labels.no_replicas ? 0 : labels.replicas);
}

/// Closes a node with GPUs in MIG mode: the labels do not state which GPU has which slices.
void close_where_mig(const NodeFacts& node, const Labels& labels, const Offered& offered,
                     NodeInventory& inventory) {
  const bool mixed = labels.strategy == Strategy::kMixed;
  const bool fewer = !offered.resource.empty() && offered.units < labels.count * labels.replicas;
  if (labels.slices()) {
    close_where_all_slices(inventory);
  } else if (mixed && offers_slices(node)) {
    close_to_annotated(inventory, ReasonCode::kWrongMode,
                       "the device plug-in offers MIG slices of the node's GPUs "
                       "(nvidia.com/mig.strategy=mixed)");
  } else if (mixed && fewer) {
    close_to_annotated(inventory, ReasonCode::kWrongMode,
                       "GPUs of the node are in MIG mode, and its labels do not say which "
                       "(nvidia.com/mig.strategy=mixed)");
  } else if (labels.no_replicas && value_of(node.labels, "nvidia.com/mig.capable") == "true") {
    close_to_annotated(inventory, ReasonCode::kWrongMode,
                       "the node's GPUs are in MIG mode (nvidia.com/gpu.replicas is 0)");
  }
}

/// Closes a node with fewer allocatable units than capacity: a GPU is unhealthy, and the labels do
/// not state which.
void check_allocatable(const NodeFacts& node, NodeInventory& inventory) {
  for (const auto& [resource, text] : node.allocatable) {
    const auto capacity = node.capacity.find(resource);
    if (!is_kubelet_resource(resource) || capacity == node.capacity.end() ||
        is_withdrawn_slice(node, resource)) {
      continue;
    }
    const auto all = read_units(resource, capacity->second);
    const auto usable = read_units(resource, text);
    if (all && usable && *usable < *all) {
      close_to_annotated(inventory, ReasonCode::kUnhealthy,
                         "fewer " + printable(resource) +
                             " are allocatable than the node has: a GPU is unhealthy, and its "
                             "labels do not say which");
    }
  }
}

}  // namespace

void close_where_all_slices(NodeInventory& inventory) {
  close_to_annotated(inventory, ReasonCode::kWrongMode,
                     "the device plug-in offers all GPUs of the node as MIG slices "
                     "(nvidia.com/mig.strategy=single), which pods get by nvidia.com/gpu in their "
                     "limits; for annotated pods take the node from the plug-in and publish its "
                     "slices in snug.dev/inventory, or turn MIG mode off");
}

bool has_gfd_labels(const NodeFacts& node) {
  return node.labels.contains(kProductLabel) || node.labels.contains(kCount) ||
         node.labels.contains(kMemoryLabel);
}

void read_gfd_labels(const NodeFacts& node, const Limits& limits, NodeInventory& inventory) {
  const auto labels = read_labels(node, limits);
  if (!labels) {
    close_to_all(inventory, ReasonCode::kBadInventory, labels.error().message);
    return;
  }
  const auto offered = read_offered(node);
  std::string problem = offered ? check_capacity(*offered, *labels) : offered.error().message;
  if (problem.empty()) problem = check_slices(node);
  if (!problem.empty()) {
    close_to_all(inventory, ReasonCode::kBadInventory, std::move(problem));
    return;
  }
  close_where_mig(node, *labels, *offered, inventory);
  if (labels->slices()) return;  // nothing says what GPUs are behind them
  check_allocatable(node, inventory);
  for (int i = 0; i < labels->count; ++i) {
    GpuInfo gpu;
    gpu.index = i;
    gpu.model = labels->product.model;
    gpu.memory = {labels->memory};
    gpu.modes = default_modes();
    inventory.gpus.push_back(std::move(gpu));
  }
}

}  // namespace snug
