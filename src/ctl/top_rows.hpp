// What `snugctl top` shows of the admin port's replies: which rows, in which order, and their sums.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/codec/admin_replies.hpp"

namespace snug::ctl {

/// What a person asked `snugctl top` for.
struct TopFilter {
  std::string name_space;                                  // empty: all
  std::vector<std::string> names;                          // empty: all
  std::optional<std::vector<std::string>> labelled_nodes;  // sorted; nullopt: all
  std::string sort_key;                                    // empty: by name
};

/// The sums of one node, or of several.
struct NodeSums {
  std::int64_t gpus = 0;
  std::int64_t closed_gpus = 0;  // by their own reasons, not by those of their nodes
  std::int64_t free_gpus = 0;    // a pod that asks for one whole GPU could take them
  std::int64_t memory_mib = 0;
  std::int64_t used_memory_mib = 0;
  std::int64_t used_compute_milli = 0;  // without what the kubelet assigned
  std::int64_t kubelet_units = 0;       // devices that the kubelet assigned
  std::int64_t pods = 0;                // pods that hold devices
};
[[nodiscard]] NodeSums sums_of(const codec::ShownNode& node);
NodeSums& operator+=(NodeSums& sums, const NodeSums& more);

/// Leaves only the holders of GPUs and kubelet's devices that are of the namespace. MIG slices keep
/// their holders, since together they are the layout of their GPU.
void keep_holders_of(std::string_view name_space, std::vector<codec::ShownNode>& nodes);
/// Leaves only the GPUs that have holders.
void keep_held_gpus(std::vector<codec::ShownNode>& nodes);

/// A GPU of a list of nodes.
struct GpuPosition {
  std::size_t node = 0;      // in the list of nodes
  std::size_t gpu = 0;       // in the node
  std::size_t in_order = 0;  // among the GPUs of all nodes
};

/// The keys that --sort-by may have, for each view.
[[nodiscard]] std::span<const std::string_view> node_sort_keys();
[[nodiscard]] std::span<const std::string_view> gpu_sort_keys();
[[nodiscard]] std::span<const std::string_view> pod_sort_keys();
[[nodiscard]] std::span<const std::string_view> namespace_sort_keys();

// Nodes without GPUs are chosen only by name. GPUs are named as NODE, for all of it, or NODE/INDEX.
// These choose rows and return their positions in the order to show. The largest amounts come
// first; equal rows keep their order. They fail if there is no row with one of the names.
[[nodiscard]] base::Result<std::vector<std::size_t>> choose_nodes(
    std::span<const codec::ShownNode> nodes, const TopFilter& filter);
[[nodiscard]] base::Result<std::vector<GpuPosition>> choose_gpus(
    std::span<const codec::ShownNode> nodes, const TopFilter& filter);
[[nodiscard]] base::Result<std::vector<std::size_t>> choose_pods(
    std::span<const codec::ShownPod> pods, const TopFilter& filter);
[[nodiscard]] base::Result<std::vector<std::size_t>> choose_namespaces(
    std::span<const codec::ShownNamespace> namespaces, const TopFilter& filter);

}  // namespace snug::ctl
