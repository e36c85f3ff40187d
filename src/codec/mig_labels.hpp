// Reads how NVIDIA's components use MIG on a node: the labels of GPU Feature Discovery and of
// mig-parted's manager, and the resources of the device plug-in. Pure.
//
// The device plug-in and GPU Feature Discovery have a common MIG strategy:
//   none    the plug-in offers whole GPUs
//   single  either no GPU or every GPU of the node is in MIG mode, with slices of one profile;
//           nvidia.com/gpu and its labels then count these slices
//   mixed   GPUs without MIG mode are nvidia.com/gpu; slices are nvidia.com/mig-<profile>, with the
//           labels nvidia.com/mig-<profile>.*; the label nvidia.com/gpu.count counts all GPUs
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/model/node_inventory.hpp"

namespace snug::codec {

inline constexpr std::string_view kStrategyLabel = "nvidia.com/mig.strategy";
inline constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";

/// The parts of the label nvidia.com/gpu.product.
struct MigProduct {
  std::string_view model;    // the GPU model, without the suffixes -MIG-… and -SHARED
  std::string_view profile;  // the text after -MIG-: the slices' profile; empty: whole GPUs

  /// Whether the GPUs have a layout that the strategy `single` does not support. The label then
  /// ends in -MIG-INVALID, and the device plug-in offers nothing.
  [[nodiscard]] bool invalid() const { return profile == "INVALID"; }
};
/// Splits the value of the label nvidia.com/gpu.product.
[[nodiscard]] MigProduct mig_product(std::string_view label);

/// Whether the device plug-in offers all GPUs of the node as slices: the strategy is `single`, and
/// the GPUs are in MIG mode.
[[nodiscard]] bool plugin_offers_only_slices(const model::NodeFacts& node);

/// Closes a node whose MIG layout is being changed, or whose last change failed, according to the
/// label nvidia.com/mig.config.state.
void close_while_reconfiguring(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Whether the node's capacity has MIG slices that the device plug-in still offers.
[[nodiscard]] bool plugin_offers_slices(const model::NodeFacts& node);
/// Whether `resource` is a resource of MIG slices that the device plug-in no longer offers: nothing
/// of it is allocatable, and the labels do not count it. The kubelet keeps such a resource in the
/// node's capacity for some minutes.
[[nodiscard]] bool is_withdrawn_slice(const model::NodeFacts& node, std::string_view resource);

/// Compares the number of slices in the node's labels and in its status. Returns a sentence about a
/// difference, or an empty text if they agree. After a change of the MIG layout, labels and status
/// change at different times. Until they agree, the slices of the node are unknown.
[[nodiscard]] std::string check_slice_counts(const model::NodeFacts& node);

/// Fills NodeInventory::plugin_profiles, plugin_owns_all_slices and milli_per_unit. Raises
/// NodeInventory::replicas to the number of replicas of a slice if that is larger.
/// read_kubelet_units() and read_replicas() must have been called before.
void read_plugin_slices(const model::NodeFacts& node, model::NodeInventory& inventory);

/// Fills NodeInventory::expected_profiles if the MIG layout is being changed. The GPUs must have
/// been read before.
void read_expected_profiles(const model::NodeFacts& node, model::NodeInventory& inventory);

}  // namespace snug::codec
