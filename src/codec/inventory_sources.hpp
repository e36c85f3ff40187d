// The parts of read_inventory(): the two sources of a node's GPUs, the annotation
// snug.dev/inventory and the labels of GPU Feature Discovery, and the quantities of nvidia.com/*
// resources. Pure; a problem closes the inventory, with a reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node.hpp"

namespace snug {

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kSharedResource = "nvidia.com/gpu.shared";
inline constexpr std::string_view kMemoryLabel = "nvidia.com/gpu.memory";
inline constexpr std::string_view kReplicasLabel = "nvidia.com/gpu.replicas";
inline constexpr std::int64_t kMostReplicas = 1'000'000;

/// The modes of a GPU if the operator names none.
inline std::vector<GpuMode> default_modes() { return {GpuMode::kWhole, GpuMode::kTimeSlicing}; }

/// The rule of is_model(), for messages.
[[nodiscard]] std::string model_rule();

/// Keep the first reason, which is the one to look at.
void close_to_all(NodeInventory& inventory, ReasonCode reason, std::string because);
void close_to_annotated(NodeInventory& inventory, ReasonCode reason, std::string because);

/// The annotation snug.dev/inventory, which the node has.
void read_inventory_annotation(const NodeFacts& node, const Limits& limits,
                               NodeInventory& inventory);

/// Empty: there is no such key, or its value is empty.
[[nodiscard]] std::string_view value_of(const StringMap& map, std::string_view key);
/// The label as a number; the error names it, what stands there and what is allowed.
[[nodiscard]] Result<std::int64_t> read_number(const NodeFacts& node, std::string_view key,
                                               IntegerRange range);

/// Whether the node has any of the labels that count GPUs.
[[nodiscard]] bool has_gfd_labels(const NodeFacts& node);
void read_gfd_labels(const NodeFacts& node, const Limits& limits, NodeInventory& inventory);

/// A count of an extended resource in a node's status: a whole number, in thousands if it ends in
/// `k`.
[[nodiscard]] Result<std::int64_t> read_units(std::string_view resource, std::string_view text);

/// How many units the device plug-in makes of one GPU; 1 if the label is missing or invalid.
[[nodiscard]] std::int64_t replicas_label(const NodeFacts& node, std::string_view key);
/// Whether by the node's labels or capacity the stock device plug-in offers each GPU as several
/// units, shared by time-slicing or MPS.
[[nodiscard]] bool says_replicas(const NodeFacts& node);
/// Closes such a node to annotated pods, unless its pool is `shares`: the kubelet may put pods on
/// any of its GPUs, without knowing what Snug placed there.
void close_where_replicated(const NodeFacts& node, NodeInventory& inventory);
/// Closes a node for which offers_all_as_slices() is true to annotated pods: the kubelet assigns
/// its slices, whatever its pool is.
void close_where_all_slices(NodeInventory& inventory);
/// Fills NodeInventory::replicas, once the units have been read: more units than GPUs mean replicas
/// too.
void read_replicas(const NodeFacts& node, NodeInventory& inventory);

/// The units that the kubelet hands out of each resource: allocatable, else capacity, else (if the
/// node states no such resource at all) one unit of nvidia.com/gpu for each healthy GPU without
/// MIG; and the units that it would hand out if all were healthy.
void read_kubelet_units(const NodeFacts& node, NodeInventory& inventory);

}  // namespace snug
