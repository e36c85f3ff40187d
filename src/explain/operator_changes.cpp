#include "explain/operator_changes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "snug/fit/node_usage.hpp"
#include "snug/fit/tenant.hpp"

namespace snug::explain {
namespace {

/// A change of an inventory. `apply` returns whether it changes anything. `sentence` and `command`
/// get the inventory before the change.
struct NodeChangeRow {
  AdviceKind kind;
  bool (*apply)(model::NodeInventory& inventory);
  std::string (*sentence)(const model::NodeInventory& present);
  std::string (*command)(const model::NodeInventory& present);
};

template <model::GpuMode kMode>
bool allow_mode(model::NodeInventory& inventory) {
  if (kMode == model::GpuMode::kMps && inventory.other_enforcer == model::OtherEnforcer::kKoordlet)
    return false;  // koordlet has no MPS daemons
  bool changed = false;
  for (model::GpuInfo& gpu : inventory.gpus) {
    if (gpu.mig_enabled || std::ranges::find(gpu.allowed_modes, kMode) != gpu.allowed_modes.end())
      continue;
    gpu.allowed_modes.push_back(kMode);
    changed = true;
  }
  return changed;
}

template <model::GpuMode kMode>
std::string mode_sentence(const model::NodeInventory& present) {
  return "node " + present.name +
         " would take the pod if the `modes` of its GPUs in its inventory allowed " +
         std::string(model::to_string(kMode));
}

bool open_pool(model::NodeInventory& inventory) {
  const bool closed = inventory.pool != model::Pool::kAuto;
  inventory.pool = model::Pool::kAuto;
  return closed;
}

bool revive_agent(model::NodeInventory& inventory) {
  const bool was_away = !inventory.agent_alive;
  inventory.agent_alive = true;
  return was_away;
}

/// Whether a GPU of a node whose MPS limits shares allows time-slicing, where MPS limits nothing.
bool has_unlimited_shares(const model::NodeInventory& inventory) {
  return inventory.share_limits == model::ShareLimits::kMps &&
         std::ranges::any_of(inventory.gpus, [](const model::GpuInfo& gpu) {
           const auto& modes = gpu.allowed_modes;
           return !gpu.mig_enabled &&
                  std::ranges::find(modes, model::GpuMode::kTimeSlicing) != modes.end();
         });
}

bool enforce_shares(model::NodeInventory& inventory) {
  const bool was_off = !inventory.enforces_shares;
  if (has_unlimited_shares(inventory)) {
    for (model::GpuInfo& gpu : inventory.gpus)
      std::erase(gpu.allowed_modes, model::GpuMode::kTimeSlicing);
  }
  inventory.enforces_shares = true;
  inventory.agent_alive = true;
  return was_off;
}

/// What the node lacks so that it counts as enforced.
std::string missing_enforcement(const model::NodeInventory& present) {
  if (present.share_limits == model::ShareLimits::kNone)
    return "if something on it limited shares: its inventory says limits: none";
  if (present.enforcement == model::Enforcement::kOpen)
    return "if its container runtime refused GPU pods while the agent is away: its inventory says "
           "enforcement: open";
  if (has_unlimited_shares(present))
    return "if the `modes` of its GPUs allowed no time-slicing, where MPS does not limit shares";
  std::string software = "software on it";
  if (present.other_enforcer) software = model::kOtherEnforcerNames[*present.other_enforcer];
  return "if it had the label snug.dev/enforced=true, which says that " + software +
         " limits each pod to its share";
}

bool repair_gpus(model::NodeInventory& inventory) {
  bool changed = false;
  for (model::GpuInfo& gpu : inventory.gpus) {
    changed = changed || !gpu.healthy || gpu.failed_memory_slices != 0;
    gpu.healthy = true;
    gpu.failed_memory_slices = 0;
  }
  for (auto& [resource, units] : inventory.kubelet_capacity) {
    std::int64_t& allocatable = inventory.kubelet_allocatable[resource];
    changed = changed || allocatable < units;
    allocatable = std::max(allocatable, units);
  }
  if (inventory.closed_to_annotated == model::ReasonCode::kUnhealthy) {
    inventory.closed_to_annotated = model::ReasonCode::kNone;
    changed = true;
  }
  return changed;
}

std::string no_command(const model::NodeInventory&) { return {}; }

constexpr auto kNodeChanges = std::to_array<NodeChangeRow>({
    {AdviceKind::kLabel, open_pool,
     [](const model::NodeInventory& present) {
       return "with the label snug.dev/pool=auto, node " + present.name +
              " would take the pod; its current value limits which pods the node takes";
     },
     [](const model::NodeInventory& present) {
       return "kubectl label node " + present.name + " --overwrite snug.dev/pool=auto";
     }},
    {AdviceKind::kRepair, revive_agent,
     [](const model::NodeInventory& present) {
       return "node " + present.name +
              " would take the pod if its agent ran: Snug sees no heartbeat of it";
     },
     no_command},
    {AdviceKind::kLabel, enforce_shares,
     [](const model::NodeInventory& present) {
       return "node " + present.name + " would take the pod " + missing_enforcement(present) +
              (present.agent_alive ? "" : ", and if its agent ran");
     },
     no_command},
    {AdviceKind::kMode, allow_mode<model::GpuMode::kWhole>, mode_sentence<model::GpuMode::kWhole>,
     no_command},
    {AdviceKind::kMode, allow_mode<model::GpuMode::kTimeSlicing>,
     mode_sentence<model::GpuMode::kTimeSlicing>, no_command},
    {AdviceKind::kMode, allow_mode<model::GpuMode::kMps>, mode_sentence<model::GpuMode::kMps>,
     no_command},
    {AdviceKind::kRepair, repair_gpus,
     [](const model::NodeInventory& present) {
       return "node " + present.name +
              " would take the pod if its unhealthy GPUs and slices were healthy";
     },
     no_command},
});

/// The rule of the namespace in a copy of the rules, as a row of its own in front.
model::SharingRules with_rule(const model::SharingRules& rules, std::string_view name_space,
                              const model::SharingRule& rule) {
  std::vector<model::SharingRow> rows{{.namespaces = {std::string(name_space)}, .rule = rule}};
  rows.insert(rows.end(), rules.rows().begin(), rules.rows().end());
  return model::SharingRules(std::move(rows));
}

std::optional<Slot> first_taker(Trial& trial, std::span<const Slot> slots) {
  const auto taker = std::ranges::find_if(slots, [&](Slot slot) { return trial.takes(slot); });
  if (taker == slots.end()) return std::nullopt;
  return *taker;
}

/// The smallest cap, in milli-GPU, with which the incoming pod fits on the node.
std::int64_t smallest_cap(const model::Snapshot& snapshot, const plan::IncomingPod& incoming,
                          Slot slot, std::int64_t most) {
  std::int64_t too_small = snapshot.namespace_usage.of(incoming.name_space).value;
  while (too_small + 1 < most) {
    const std::int64_t middle = too_small + (most - too_small) / 2;
    model::SharingRule rule = incoming.sharing.rule_for(incoming.name_space);
    rule.cap = base::MilliGpu{middle};
    const model::SharingRules rules = with_rule(incoming.sharing, incoming.name_space, rule);
    Trial trial(snapshot, with_rules(incoming, rules));
    (trial.takes(slot) ? most : too_small) = middle;
  }
  return most;
}

}  // namespace

std::vector<Advice> node_changes(Trial& trial, std::span<const Slot> slots) {
  std::vector<Advice> advice;
  for (const NodeChangeRow& row : kNodeChanges) {
    for (const Slot slot : slots) {
      const model::NodeState& node = *trial.snapshot().nodes[slot];
      model::NodeInventory changed = *node.inventory;
      if (!row.apply(changed)) continue;
      auto inventory = std::make_shared<const model::NodeInventory>(std::move(changed));
      trial.count_state(node.holdings.size());
      const model::NodeStatePtr state =
          fit::build_node_state(inventory, node.holdings,
                                {.requested = node.unlisted_host_used,
                                 .mirrored = node.unlisted_mirrored_used,
                                 .pod_count = node.unlisted_pod_count,
                                 .listed = {}});
      if (!trial.takes_in(slot, *state, trial.snapshot().intents_on(slot),
                          trial.snapshot().namespace_usage))
        continue;
      advice.push_back({.kind = row.kind,
                        .sentence = row.sentence(*node.inventory),
                        .command = row.command(*node.inventory),
                        .change = NodeChange{*inventory}});
      break;
    }
  }
  return advice;
}

std::vector<Advice> rule_changes(const model::Snapshot& snapshot, const plan::IncomingPod& incoming,
                                 std::span<const Slot> slots) {
  std::vector<Advice> advice;
  const model::SharingRule present = incoming.sharing.rule_for(incoming.name_space);
  const std::string name_space(incoming.name_space);
  const auto try_rule = [&](const model::SharingRules& rules) {
    Trial trial(snapshot, with_rules(incoming, rules));
    return first_taker(trial, slots);
  };
  if (present.cap) {
    model::SharingRule uncapped = present;
    uncapped.cap.reset();
    const auto taker = try_rule(with_rule(incoming.sharing, incoming.name_space, uncapped));
    if (taker) {
      const std::int64_t held = snapshot.namespace_usage.of(incoming.name_space).value;
      const std::int64_t most =
          held + 1000 * static_cast<std::int64_t>(snapshot.nodes[*taker]->gpus.size()) + 1000;
      model::SharingRule raised = present;
      raised.cap = base::MilliGpu{smallest_cap(snapshot, incoming, *taker, most)};
      const model::SharingRules rules = with_rule(incoming.sharing, incoming.name_space, raised);
      if (try_rule(rules)) {
        advice.push_back({.kind = AdviceKind::kCap,
                          .sentence = "namespace " + name_space + " holds " + std::to_string(held) +
                                      " milli-GPU of its cap of " +
                                      std::to_string(present.cap->value) +
                                      "; with capMilli: " + std::to_string(raised.cap->value) +
                                      " in the policy the pod would fit on node " +
                                      snapshot.nodes[*taker]->name(),
                          .command = {},
                          .change = RulesChange{rules}});
      }
    }
  }
  if (incoming.sharing.isolates_any_namespace()) {
    std::vector<model::SharingRow> rows = incoming.sharing.rows();
    for (model::SharingRow& row : rows) row.rule.own_namespace_only = false;
    const model::SharingRules rules(std::move(rows));
    if (const auto taker = try_rule(rules)) {
      advice.push_back({.kind = AdviceKind::kSharing,
                        .sentence = "with neighbours: any in the policy the pod would fit beside "
                                    "pods of other namespaces, on node " +
                                    snapshot.nodes[*taker]->name(),
                        .command = {},
                        .change = RulesChange{rules}});
    }
  }
  return advice;
}

}  // namespace snug::explain
