// The parts of read_inventory(). They read the annotations snug.dev/inventory and snug.dev/usage,
// the labels of GPU Feature Discovery, and the quantities of nvidia.com/* resources in a node's
// status. If they find a problem, they close the inventory with a reason, unless it concerns usage.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json_reader.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"

namespace snug::codec {

inline constexpr std::string_view kMemoryLabel = "nvidia.com/gpu.memory";
inline constexpr std::string_view kReplicasLabel = "nvidia.com/gpu.replicas";
inline constexpr std::int64_t kMaxReplicas = 1'000'000;

/// Returns the modes that a GPU may have if the operator does not configure any.
inline std::vector<model::GpuMode> default_modes() {
  return {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing};
}

/// Returns the rule of is_valid_model_name() in words, for messages.
[[nodiscard]] std::string model_name_rule();

/// These two functions close the node to all GPU pods or only to annotated pods. They have no
/// effect if the node is already closed to these pods, so the first reason is kept.
void close_to_all_gpu_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                           std::string because);
void close_to_annotated_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                             std::string because);

/// Reads the annotation snug.dev/inventory, which the node must have.
void read_inventory_annotation(const model::NodeFacts& node, const base::Limits& limits,
                               model::NodeInventory& inventory);

/// Sets GpuInfo::load by the annotation snug.dev/usage. An annotation that is malformed or too
/// large is ignored, because a load never decides whether a pod fits.
void read_usage_annotation(const model::NodeFacts& node, const base::Limits& limits,
                           model::NodeInventory& inventory);

/// Returns the value of the label or annotation `key`. Empty if there is none.
[[nodiscard]] std::string_view value_or_empty(const model::StringMap& labels, std::string_view key);
/// Reads the value of the label `key` as a number. An error names the label, its value and the
/// allowed range.
[[nodiscard]] base::Result<std::int64_t> read_label_number(const model::NodeFacts& node,
                                                           std::string_view key,
                                                           IntegerRange range);

/// Whether the node has a label with the product, the count or the memory of its GPUs.
[[nodiscard]] bool has_gfd_labels(const model::NodeFacts& node);
/// Reads the labels of GPU Feature Discovery.
void read_gfd_labels(const model::NodeFacts& node, const base::Limits& limits,
                     model::NodeInventory& inventory);

/// Reads the count of an extended resource in a node's status: a whole number. The suffix `k` means
/// thousands.
[[nodiscard]] base::Result<std::int64_t> read_units(std::string_view resource,
                                                    std::string_view text);

/// Returns how many units the device plug-in offers for one GPU or slice, as the label `key` says.
/// If the label is missing or invalid, returns 1.
[[nodiscard]] std::int64_t replicas_from_label(const model::NodeFacts& node, std::string_view key);
/// Whether the node's labels or capacity say that the NVIDIA device plug-in offers each GPU as
/// several units, by time-slicing or MPS.
[[nodiscard]] bool advertises_replicas(const model::NodeFacts& node);
/// For a node whose device plug-in offers each GPU as several units: closes the node to annotated
/// pods, unless its pool is `shares`. The kubelet may assign units of any GPU to its pods, because
/// it does not know which GPUs Snug has assigned.
void close_if_replicated(const model::NodeFacts& node, model::NodeInventory& inventory);
/// Closes the node to annotated pods. Requires plugin_offers_only_slices(): the kubelet then
/// assigns the node's slices, whatever the node's pool is.
void close_as_all_slices(model::NodeInventory& inventory);
/// Fills NodeInventory::replicas, and calls close_if_replicated() if the node has more units than
/// GPUs. read_kubelet_units() must have been called before.
void read_replicas(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Fills NodeInventory::kubelet_allocatable and kubelet_capacity. The units of a resource come from
/// the node's allocatable, or from its capacity if allocatable does not have the resource. If the
/// status has no GPU resource at all, each healthy GPU without MIG is one unit of nvidia.com/gpu.
void read_kubelet_units(const model::NodeFacts& node, model::NodeInventory& inventory);

}  // namespace snug::codec
