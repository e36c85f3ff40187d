// The two places that say what a node has, each read into the same NodeInventory, and the
// quantities of nvidia.com/* resources that go with them. Pure; what is wrong closes the inventory
// and says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node.hpp"
#include "snug/model/request.hpp"

namespace snug {

inline constexpr std::string_view kMemoryLabel = "nvidia.com/gpu.memory";
inline constexpr std::string_view kReplicasLabel = "nvidia.com/gpu.replicas";
inline constexpr std::int64_t kMostReplicas = 1'000'000;

/// What a GPU may be used for where the operator does not say.
inline std::vector<GpuMode> default_modes() { return {GpuMode::kWhole, GpuMode::kTimeSlicing}; }

/// What a text must be for is_model(), in words.
[[nodiscard]] std::string model_rule();

/// Keeps the first reason: it is the one that people should look at.
void close_to_all(NodeInventory& inventory, ReasonCode reason, std::string because);
void close_to_annotated(NodeInventory& inventory, ReasonCode reason, std::string because);

/// The annotation snug.dev/inventory, which the node has.
void read_inventory_annotation(const NodeFacts& node, const Limits& limits,
                               NodeInventory& inventory);

/// Whether the node has any of the labels that count GPUs.
[[nodiscard]] bool has_gfd_labels(const NodeFacts& node);
void read_gfd_labels(const NodeFacts& node, const Limits& limits, NodeInventory& inventory);

/// A count of an extended resource as a node's status writes it: a whole number, in thousands with
/// `k`.
[[nodiscard]] Result<std::int64_t> read_units(std::string_view resource, std::string_view text);

/// How many units the device plug-in makes of one; 1 where the label is missing or no such number.
[[nodiscard]] std::int64_t replicas_label(const NodeFacts& node, std::string_view key);
/// Whether the node's labels or its capacity say that the stock device plug-in offers each GPU as
/// several units, to be shared in time or by MPS.
[[nodiscard]] bool says_replicas(const NodeFacts& node);
/// Closes such a node to annotated pods, unless its pool is `shares`: the plug-in lets the kubelet
/// put pods on any of its GPUs, and neither knows what Snug put there.
void close_where_replicated(const NodeFacts& node, NodeInventory& inventory);
/// Closes a node of which offers_all_as_slices() is true to annotated pods: the kubelet gives its
/// slices, whatever its pool is.
void close_where_all_slices(NodeInventory& inventory);
/// Fills NodeInventory::replicas from the units that have been read; more units than GPUs say as
/// much as labels do.
void read_replicas(const NodeFacts& node, NodeInventory& inventory);

/// What the kubelet hands out: by resource the allocatable units, else the capacity, else (where
/// the node states no such resource at all) one unit of nvidia.com/gpu for each healthy GPU without
/// MIG; and what it would hand out if all were healthy.
void read_kubelet_units(const NodeFacts& node, NodeInventory& inventory);

}  // namespace snug
