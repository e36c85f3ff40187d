// The parts of read_inventory(): the two sources of a node's GPUs, the annotation
// snug.dev/inventory and the labels of GPU Feature Discovery, and the quantities of nvidia.com/*
// resources. Pure; a problem closes the inventory, with a reason.
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

/// The modes of a GPU if the operator names none.
inline std::vector<model::GpuMode> default_modes() {
  return {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing};
}

/// The rule of is_valid_model_name(), for messages.
[[nodiscard]] std::string model_name_rule();

/// Close the node, unless it is closed already: the first reason is kept.
void close_to_all_gpu_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                           std::string because);
void close_to_annotated_pods(model::NodeInventory& inventory, model::ReasonCode reason,
                             std::string because);

/// The annotation snug.dev/inventory, which the node has.
void read_inventory_annotation(const model::NodeFacts& node, const base::Limits& limits,
                               model::NodeInventory& inventory);

/// The value; empty if there is no such key.
[[nodiscard]] std::string_view value_or_empty(const model::StringMap& map, std::string_view key);
/// The label as a number; the error names the label, its value and what is allowed.
[[nodiscard]] base::Result<std::int64_t> read_label_number(const model::NodeFacts& node,
                                                           std::string_view key,
                                                           IntegerRange range);

/// Whether the node has any of the labels that count GPUs.
[[nodiscard]] bool has_gfd_labels(const model::NodeFacts& node);
void read_gfd_labels(const model::NodeFacts& node, const base::Limits& limits,
                     model::NodeInventory& inventory);

/// A count of an extended resource in a node's status: a whole number, in thousands if it ends in
/// `k`.
[[nodiscard]] base::Result<std::int64_t> read_units(std::string_view resource,
                                                    std::string_view text);

/// The number of units that the device plug-in makes of one GPU; 1 if the label is missing or
/// invalid.
[[nodiscard]] std::int64_t replicas_from_label(const model::NodeFacts& node, std::string_view key);
/// Whether, according to the node's labels or capacity, the NVIDIA device plug-in offers each GPU
/// as several units, shared by time-slicing or MPS.
[[nodiscard]] bool advertises_replicas(const model::NodeFacts& node);
/// Closes a node with replicas to annotated pods, unless its pool is `shares`: the kubelet may
/// assign any of its GPUs to pods, without knowing which of them Snug has assigned.
void close_if_replicated(const model::NodeFacts& node, model::NodeInventory& inventory);
/// Closes a node for which plugin_offers_only_slices() is true to annotated pods: the kubelet
/// assigns its slices, whatever its pool is.
void close_as_all_slices(model::NodeInventory& inventory);
/// Fills NodeInventory::replicas. Precondition: the units have been read, because more units than
/// GPUs also mean replicas.
void read_replicas(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Fills the number of units of each resource that the kubelet can assign: allocatable, else
/// capacity, else (if the node states no such resource) one unit of nvidia.com/gpu for each healthy
/// GPU without MIG. Also fills the number of units if all GPUs were healthy.
void read_kubelet_units(const model::NodeFacts& node, model::NodeInventory& inventory);

}  // namespace snug::codec
