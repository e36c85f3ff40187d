// What the agent publishes of its node: the value of the annotation snug.dev/inventory, before it
// is text. agent_codec/inventory_writer writes it. Plain data, and the function that makes it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "snug/agent/device_report.hpp"
#include "snug/agent/reserved_slices.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::agent {

struct InventorySettings {
  std::string boot_id;                // empty: unknown
  std::vector<model::GpuMode> modes;  // what the operator allows on each GPU
  bool dynamic_mig = false;
  model::Enforcement enforcement = model::Enforcement::kOpen;
  model::ShareLimits limits = model::ShareLimits::kNone;

  friend bool operator==(const InventorySettings&, const InventorySettings&) = default;
};

struct Inventory {
  InventorySettings settings;
  std::vector<DeviceReport> gpus;          // ascending by index, which need not be consecutive
  std::vector<std::vector<int>> links;     // a row and a column for each GPU; empty: unknown
  std::vector<SliceFailure> mig_failures;  // reserved slices that could not be made
  /// Why the MPS daemon of a GPU failed, by the GPU's uuid. Such a GPU is published as not healthy:
  /// a daemon is needed only while pods hold the GPU in the mode mps, which then takes no others.
  std::map<std::string, std::string, std::less<>> mps_failures;

  friend bool operator==(const Inventory&, const Inventory&) = default;
};

/// Leaves out what Snug would refuse in an inventory: slices that overlap another one, as a report
/// can have while slices are destroyed and made, and more failures than max_mig_failures.
[[nodiscard]] Inventory make_inventory(NodeDevices devices, InventorySettings settings,
                                       std::vector<SliceFailure> mig_failures = {});

}  // namespace snug::agent
