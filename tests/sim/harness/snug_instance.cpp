#include "sim/harness/snug_instance.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace snug {
namespace {

PolicyPtr default_policy(const Limits& limits) {
  return std::make_shared<const Policy>(
      read_policy(default_policy_yaml(), "the default policy", limits).value());
}

Held held_of(const Holding& holding) {
  Held held;
  held.unplaced = holding.unplaced;
  for (const ReservedContainer& container : holding.reservation.containers) {
    if (const auto* units = std::get_if<KubeletUnits>(&container.given)) {
      held.units[units->resource] += units->count;
      continue;
    }
    for (const ReservedDevice& device : std::get<std::vector<ReservedDevice>>(container.given)) {
      held.devices.push_back({device.index, device.uuid, std::string(to_string(device.mode)),
                              device.memory.value, device.compute.value});
    }
  }
  std::ranges::sort(held.devices);
  return held;
}

Observed::Node node_of(const NodeState& state) {
  Observed::Node node;
  node.units = {state.kubelet_used.begin(), state.kubelet_used.end()};
  for (const GpuState& gpu : state.gpus) {
    node.gpus.push_back({gpu.info->index, gpu.info->uuid, gpu.used_memory.value,
                         gpu.used_compute.value, gpu.closure == GpuClosure::kVanished});
  }
  return node;
}

}  // namespace

SnugInstance::SnugInstance(const Clock& clock, ApiPort& api, ServiceOptions options)
    : ledger_(clock, options.limits),
      pending_(options.limits),
      reconciler_({ledger_, pending_, readiness_, api, metrics_, log_, clock}, options.limits),
      service_({ledger_, pending_, readiness_, api, metrics_, log_, clock}, options,
               default_policy(options.limits)) {}

Observed SnugInstance::observe() {
  Observed seen;
  seen.ready = readiness_.ready();
  for (const LedgerEntry& entry : ledger_.entries()) {
    Held held = held_of(*entry.holding);
    if (!held.anything()) continue;
    seen.pods[entry.holding->uid] = {entry.holding->reservation.node, std::move(held),
                                     entry.state == HoldingState::kBound};
  }
  const SnapshotPtr snapshot = ledger_.snapshot();
  for (std::size_t i = 0; i < snapshot->nodes.size(); ++i) {
    const NodeStatePtr& node = snapshot->nodes[i];
    if (node != nullptr) seen.nodes[node->name()] = node_of(*node);
  }
  for (const PendingRow& row : pending_.rows()) seen.pending.insert(row.pod->uid);
  return seen;
}

}  // namespace snug
