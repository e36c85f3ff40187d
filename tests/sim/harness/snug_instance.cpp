#include "sim/harness/snug_instance.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "snug/leader/election.hpp"

namespace snug {
namespace {

score::PolicyPtr policy_of(const std::string& yaml, const base::Limits& limits) {
  return std::make_shared<const score::Policy>(
      codec::read_policy(yaml, "the policy", limits).value());
}

Held held_of(const model::Holding& holding) {
  Held held;
  held.unplaced = holding.unplaced;
  for (const model::ReservedContainer& container : holding.reservation.containers) {
    if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned)) {
      held.units[units->resource] += units->count;
      continue;
    }
    for (const model::ReservedDevice& device : container.devices()) {
      held.devices.push_back({container.name, device});
    }
  }
  std::sort(held.devices.begin(), held.devices.end());
  return held;
}

Observed::Node node_of(const model::NodeState& state) {
  Observed::Node node;
  node.units = {state.kubelet_used.begin(), state.kubelet_used.end()};
  node.host_cpu = state.host_used.cpu_milli;
  node.host_memory = state.host_used.memory_bytes;
  node.pods = state.pod_count;
  for (const model::GpuState& gpu : state.gpus) {
    node.gpus.push_back({gpu.info->index, gpu.info->uuid, gpu.used_memory.value,
                         gpu.used_compute.value, gpu.mig.taken_slices,
                         gpu.closure == model::GpuClosure::kVanished});
  }
  return node;
}

}  // namespace

SnugInstance::SnugInstance(const base::Clock& clock, service::ApiPort& api,
                           service::ServiceOptions options, const std::string& policy)
    : ledger_(clock, options.limits),
      pending_(options.limits),
      demand_(ledger_),
      readiness_(clock, options.limits),
      fence_(clock, leader::unanswered_window(options.api_timeout, options.limits)),
      limits_(options.limits),
      policy_(policy_of(policy, options.limits)),
      reconciler_({ledger_, pending_, demand_, readiness_, api, metrics_, log_, clock},
                  options.limits, options.mirrored_cards),
      service_(
          {ledger_, pending_, readiness_, fence_, policy_, placements_, api, metrics_, log_, clock},
          options) {}

void SnugInstance::change_policy(const std::string& yaml) {
  policy_.replace(policy_of(yaml, limits_));
  ledger_.policy_changed();
}

Observed SnugInstance::observe() {
  Observed seen;
  seen.ready = readiness_.is_ready();
  for (const ledger::LedgerEntry& entry : ledger_.gpu_entries()) {
    Held held = held_of(*entry.holding);
    if (!held.anything()) continue;
    seen.pods[entry.holding->uid] = {entry.holding->reservation.node, std::move(held),
                                     entry.state == ledger::HoldingState::kBound,
                                     entry.holding->terminating};
  }
  const model::SnapshotPtr snapshot = ledger_.snapshot();
  for (std::size_t i = 0; i < snapshot->nodes.size(); ++i) {
    const model::NodeStatePtr& node = snapshot->nodes[i];
    if (node != nullptr) seen.nodes[node->name()] = node_of(*node);
  }
  for (const auto& [node, intents] : snapshot->intents) {
    for (const model::HoldingPtr& intent : intents) {
      seen.promises.push_back({intent->uid, intent->reservation.node, held_of(*intent)});
    }
  }
  for (const auto& [node, nominations] : snapshot->nominations) {
    for (const model::NominationPtr& pod : nominations) {
      seen.nominations.emplace(pod->rank.uid, pod->node);
    }
  }
  for (const service::PendingRow& row : pending_.rows()) seen.pending.insert(row.pod->facts.uid);
  return seen;
}

}  // namespace snug
