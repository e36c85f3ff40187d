// What the agent publishes of its node: the value of the annotation snug.dev/inventory, before it
// is text. agent_codec/inventory_writer writes it. Plain data, and the function that makes it.
#pragma once

#include <string>
#include <vector>

#include "snug/agent/device_report.hpp"
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
  std::vector<DeviceReport> gpus;       // ascending by index, which need not be consecutive
  std::vector<std::vector<int>> links;  // a row and a column for each GPU; empty: unknown

  friend bool operator==(const Inventory&, const Inventory&) = default;
};

/// Leaves out what Snug would refuse in an inventory: slices that overlap another one, as a report
/// can have while slices are destroyed and made.
[[nodiscard]] Inventory make_inventory(NodeDevices devices, InventorySettings settings);

}  // namespace snug::agent
