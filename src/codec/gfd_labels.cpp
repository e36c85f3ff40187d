#include <algorithm>
#include <utility>

#include "codec/inventory_sources.hpp"
#include "codec/json_reader.hpp"
#include "codec/mig_labels.hpp"
#include "snug/base/text.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::codec {
namespace {

constexpr std::string_view kCountLabel = "nvidia.com/gpu.count";

enum class MigStrategy : std::uint8_t { kNone, kSingle, kMixed };
constexpr base::EnumNames kStrategyNames{std::array{base::EnumName{MigStrategy::kNone, "none"},
                                                    base::EnumName{MigStrategy::kSingle, "single"},
                                                    base::EnumName{MigStrategy::kMixed, "mixed"}}};

struct GfdLabels {
  MigStrategy strategy = MigStrategy::kNone;
  MigProduct product;
  std::int64_t count = 0;      // the number of GPUs, or of slices if the product has a profile
  std::int64_t memory = 0;     // the memory of each GPU or slice, in MiB
  std::int64_t replicas = 1;   // the replicas of each GPU or slice, at least 1
  bool zero_replicas = false;  // whether the label for replicas is 0, as for GPUs in MIG mode

  [[nodiscard]] bool counts_slices() const { return !product.profile.empty(); }
};

base::Result<MigStrategy> read_strategy(const model::NodeFacts& node) {
  const std::string_view strategy_label = value_or_empty(node.labels, kStrategyLabel);
  if (strategy_label.empty()) return MigStrategy::kNone;
  if (const auto strategy = kStrategyNames.find(strategy_label)) return *strategy;
  return base::fail(base::ErrorCode::kInvalid, "the label nvidia.com/mig.strategy is " +
                                                   base::in_quotes(strategy_label) +
                                                   "; expected none, single or mixed");
}

base::Result<MigProduct> read_product(const model::NodeFacts& node, MigStrategy strategy) {
  const MigProduct product = mig_product(value_or_empty(node.labels, kProductLabel));
  if (product.model.empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "the label nvidia.com/gpu.product is missing or empty; it must name the model");
  }
  if (!model::is_valid_model_name(product.model)) {
    return base::fail(base::ErrorCode::kInvalid, "the label nvidia.com/gpu.product is " +
                                                     base::in_quotes(product.model) +
                                                     "; a model name has " + model_name_rule());
  }
  if (product.invalid()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "the label nvidia.com/gpu.product ends in -MIG-INVALID: under the MIG strategy "
        "single all GPUs of a node must be in MIG mode, with slices of one profile, or "
        "none of them");
  }
  if (!product.profile.empty() && strategy != MigStrategy::kSingle) {
    return base::fail(
        base::ErrorCode::kInvalid,
        "the label nvidia.com/gpu.product names a MIG profile, but nvidia.com/mig.strategy "
        "is not single");
  }
  return product;
}

base::Result<GfdLabels> read_labels(const model::NodeFacts& node, const base::Limits& limits) {
  GfdLabels labels;
  const auto strategy = read_strategy(node);
  if (!strategy) return std::unexpected(strategy.error());
  labels.strategy = *strategy;
  const auto product = read_product(node, labels.strategy);
  if (!product) return std::unexpected(product.error());
  labels.product = *product;
  const std::int64_t units_per_gpu = labels.counts_slices() ? model::kMaxAxisSlices : 1;
  const auto count =
      read_label_number(node, kCountLabel, {1, limits.max_gpus_per_node * units_per_gpu});
  if (!count) return std::unexpected(count.error());
  const auto memory = read_label_number(node, kMemoryLabel, kPositive);
  if (!memory) return std::unexpected(memory.error());
  labels.count = *count;
  labels.memory = *memory;
  if (!value_or_empty(node.labels, kReplicasLabel).empty()) {
    const auto replicas = read_label_number(node, kReplicasLabel, {0, kMaxReplicas});
    if (!replicas) return std::unexpected(replicas.error());
    labels.replicas = std::max<std::int64_t>(1, *replicas);
    labels.zero_replicas = *replicas == 0;
  }
  return labels;
}

struct OfferedUnits {
  std::string_view resource;  // empty: the node's capacity has no GPU resource
  std::int64_t units = 0;
};

/// Returns the units of nvidia.com/gpu or nvidia.com/gpu.shared in the node's capacity. If the
/// device plug-in offers replicas as nvidia.com/gpu.shared, nvidia.com/gpu is absent or 0.
base::Result<OfferedUnits> read_offered_units(const model::NodeFacts& node) {
  OfferedUnits offered;
  for (const std::string_view resource : {model::kGpuResource, model::kSharedResource}) {
    const auto unit_quantity = node.capacity.find(resource);
    if (unit_quantity == node.capacity.end()) continue;
    const auto unit_count = read_units(resource, unit_quantity->second);
    if (!unit_count) return std::unexpected(unit_count.error());
    if (offered.units > 0 && *unit_count > 0) {
      return base::fail(
          base::ErrorCode::kInvalid,
          "the node's capacity has nvidia.com/gpu and nvidia.com/gpu.shared, but a device "
          "plug-in offers only one of the two");
    }
    if (offered.resource.empty() || *unit_count > 0) offered = {resource, *unit_count};
  }
  return offered;
}

/// Returns a sentence if the capacity contradicts the labels, and otherwise an empty text. With the
/// strategy `mixed`, the capacity may be smaller than the labels say, because it does not include
/// GPUs in MIG mode.
std::string check_capacity(const OfferedUnits& offered, const GfdLabels& labels) {
  const std::int64_t labelled_units = labels.count * labels.replicas;
  const bool is_mixed = labels.strategy == MigStrategy::kMixed;
  if (offered.resource.empty() || offered.units == labelled_units ||
      (is_mixed && offered.units < labelled_units)) {
    return "";
  }
  return "the node's capacity has " + std::to_string(offered.units) + " " +
         std::string(offered.resource) + ", but its labels say " + std::to_string(labels.count) +
         (labels.counts_slices() ? " slices" : " GPUs") + " with replicas " +
         std::to_string(labels.zero_replicas ? 0 : labels.replicas);
}

/// If the node has GPUs in MIG mode, closes it to annotated pods, because the labels do not say
/// which GPU has which slices.
void close_if_mig(const model::NodeFacts& node, const GfdLabels& labels,
                  const OfferedUnits& offered, model::NodeInventory& inventory) {
  const bool is_mixed = labels.strategy == MigStrategy::kMixed;
  const bool fewer_than_labels =
      !offered.resource.empty() && offered.units < labels.count * labels.replicas;
  if (labels.counts_slices()) {
    close_as_all_slices(inventory);
  } else if (is_mixed && plugin_offers_slices(node)) {
    close_to_annotated_pods(inventory, model::ReasonCode::kWrongMode,
                            "the device plug-in offers MIG slices of the node's GPUs "
                            "(nvidia.com/mig.strategy=mixed)");
  } else if (is_mixed && fewer_than_labels) {
    close_to_annotated_pods(inventory, model::ReasonCode::kWrongMode,
                            "GPUs of the node are in MIG mode, and the labels do not say which "
                            "(nvidia.com/mig.strategy=mixed)");
  } else if (labels.zero_replicas &&
             value_or_empty(node.labels, "nvidia.com/mig.capable") == "true") {
    close_to_annotated_pods(inventory, model::ReasonCode::kWrongMode,
                            "the node's GPUs are in MIG mode (nvidia.com/gpu.replicas is 0)");
  }
}

/// If the node has fewer allocatable units than capacity, closes it to annotated pods: a GPU is
/// unhealthy, and the labels do not say which one.
void check_allocatable(const model::NodeFacts& node, model::NodeInventory& inventory) {
  for (const auto& [resource, allocatable_quantity] : node.allocatable) {
    const auto capacity = node.capacity.find(resource);
    if (!request::is_kubelet_gpu_resource(resource) || capacity == node.capacity.end() ||
        is_withdrawn_slice(node, resource)) {
      continue;
    }
    const auto capacity_units = read_units(resource, capacity->second);
    const auto allocatable_units = read_units(resource, allocatable_quantity);
    if (capacity_units && allocatable_units && *allocatable_units < *capacity_units) {
      close_to_annotated_pods(inventory, model::ReasonCode::kUnhealthy,
                              "fewer " + base::printable_excerpt(resource) +
                                  " are allocatable than the node's capacity has: a GPU is "
                                  "unhealthy, and the labels do not say which one");
    }
  }
}

}  // namespace

void close_as_all_slices(model::NodeInventory& inventory) {
  close_to_annotated_pods(
      inventory, model::ReasonCode::kWrongMode,
      "the device plug-in offers all GPUs of the node as MIG slices "
      "(nvidia.com/mig.strategy=single), and pods request them by nvidia.com/gpu in their "
      "limits; for annotated pods, remove the plug-in from the node and publish its "
      "slices in snug.dev/inventory, or turn MIG mode off");
}

bool has_gfd_labels(const model::NodeFacts& node) {
  return node.labels.contains(kProductLabel) || node.labels.contains(kCountLabel) ||
         node.labels.contains(kMemoryLabel);
}

void read_gfd_labels(const model::NodeFacts& node, const base::Limits& limits,
                     model::NodeInventory& inventory) {
  const auto labels = read_labels(node, limits);
  if (!labels) {
    close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory, labels.error().message);
    return;
  }
  const auto offered = read_offered_units(node);
  std::string problem = offered ? check_capacity(*offered, *labels) : offered.error().message;
  if (problem.empty()) problem = check_slice_counts(node);
  if (!problem.empty()) {
    close_to_all_gpu_pods(inventory, model::ReasonCode::kBadInventory, std::move(problem));
    return;
  }
  close_if_mig(node, *labels, *offered, inventory);
  if (labels->counts_slices()) return;  // the labels do not describe the GPUs
  check_allocatable(node, inventory);
  for (int i = 0; i < labels->count; ++i) {
    model::GpuInfo gpu;
    gpu.index = i;
    gpu.model = labels->product.model;
    gpu.memory = {labels->memory};
    gpu.allowed_modes = default_modes();
    inventory.gpus.push_back(std::move(gpu));
  }
}

}  // namespace snug::codec
