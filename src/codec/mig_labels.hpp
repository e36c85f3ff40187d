// What NVIDIA's components say about MIG on a node: GPU Feature Discovery's labels, the device
// plug-in's resources, and mig-parted's manager. Pure.
//
// The plug-in and GPU Feature Discovery have one strategy. `none`: GPUs are offered whole.
// `single`: where GPUs are in MIG mode all must be, in slices of one profile, and nvidia.com/gpu
// and its labels count these slices. `mixed`: GPUs out of MIG mode are nvidia.com/gpu, slices are
// nvidia.com/mig-<profile> with labels of that name, and nvidia.com/gpu.count has all GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/model/node.hpp"

namespace snug {

inline constexpr std::string_view kStrategyLabel = "nvidia.com/mig.strategy";
inline constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";

/// nvidia.com/gpu.product in its parts.
struct MigProduct {
  std::string_view model;    // without NVIDIA's suffixes
  std::string_view profile;  // of `single`, as the label spells it; empty: no slices

  /// `single` cannot serve the GPUs as they are laid out, and nothing is offered.
  [[nodiscard]] bool invalid() const { return profile == "INVALID"; }
};
[[nodiscard]] MigProduct mig_product(std::string_view label);

/// Whether the device plug-in offers all GPUs of the node as slices: strategy `single`, in MIG
/// mode.
[[nodiscard]] bool offers_all_as_slices(const NodeFacts& node);

/// Closes a node whose MIG layout is being changed (nvidia.com/mig.config.state), or was left half
/// changed.
void close_while_reconfiguring(const NodeFacts& node, NodeInventory& inventory);

/// Whether the node's status offers slices that have not been withdrawn: the kubelet keeps what a
/// plug-in no longer offers in its capacity for minutes, with nothing of it allocatable.
[[nodiscard]] bool offers_slices(const NodeFacts& node);
/// Whether the kubelet still lists a resource that neither plug-in nor labels have.
[[nodiscard]] bool is_withdrawn_slice(const NodeFacts& node, std::string_view resource);

/// Empty: the labels have the slices that the status offers. Either changes on its own after a new
/// layout, and until they agree nobody knows what is there.
[[nodiscard]] std::string check_slices(const NodeFacts& node);

/// Fills NodeInventory::plugin_profiles, plugin_has_all_slices and unit_milli, once the units have
/// been read.
void read_plugin_slices(const NodeFacts& node, NodeInventory& inventory);

/// Fills NodeInventory::coming_profiles, once the GPUs have been read.
void read_coming_profiles(const NodeFacts& node, NodeInventory& inventory);

}  // namespace snug
