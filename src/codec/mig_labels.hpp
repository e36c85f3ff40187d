// MIG on a node by NVIDIA's components: the labels of GPU Feature Discovery, the resources of the
// device plug-in, and the labels of mig-parted's manager. Pure.
//
// The plug-in and GPU Feature Discovery share a MIG strategy. `none`: GPUs are offered whole.
// `single`: if any GPU is in MIG mode all are, in slices of one profile, and nvidia.com/gpu and its
// labels count these slices. `mixed`: GPUs without MIG mode are nvidia.com/gpu, slices are
// nvidia.com/mig-<profile> with labels of that name, and nvidia.com/gpu.count counts all GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/model/node_inventory.hpp"

namespace snug::codec {

inline constexpr std::string_view kStrategyLabel = "nvidia.com/mig.strategy";
inline constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";

/// The parts of nvidia.com/gpu.product.
struct MigProduct {
  std::string_view model;    // without NVIDIA's suffixes
  std::string_view profile;  // with `single`, as the label spells it; empty: no slices

  /// The layout of the GPUs is impossible with `single`, and nothing is offered.
  [[nodiscard]] bool invalid() const { return profile == "INVALID"; }
};
[[nodiscard]] MigProduct mig_product(std::string_view label);

/// Whether the device plug-in offers all GPUs of the node as slices: strategy `single`, in MIG
/// mode.
[[nodiscard]] bool plugin_offers_only_slices(const model::NodeFacts& node);

/// Closes a node whose MIG layout is being changed (nvidia.com/mig.config.state), or whose last
/// change failed halfway.
void close_while_reconfiguring(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Whether the node's status offers slices that are not withdrawn. A resource that a plug-in no
/// longer offers stays in the kubelet's capacity for minutes, with nothing of it allocatable.
[[nodiscard]] bool plugin_offers_slices(const model::NodeFacts& node);
/// Whether the kubelet lists a resource that neither the plug-in nor the labels have any more.
[[nodiscard]] bool is_withdrawn_slice(const model::NodeFacts& node, std::string_view resource);

/// What differs between the slices in the labels and in the status; empty: nothing. After a new
/// layout they change at different times, and until they agree the node's slices are unknown.
[[nodiscard]] std::string check_slice_counts(const model::NodeFacts& node);

/// Fills NodeInventory::plugin_profiles, plugin_owns_all_slices and milli_per_unit, once the units
/// have been read.
void read_plugin_slices(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Fills NodeInventory::expected_profiles, once the GPUs have been read.
void read_expected_profiles(const model::NodeFacts& node, model::NodeInventory& inventory);

}  // namespace snug::codec
