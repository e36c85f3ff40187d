// Node states, policy profiles and a readable form of snapshots, for tests of the layers that
// decide. Pure.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"
#include "support/cluster.hpp"
#include "support/slices.hpp"

namespace snug {

inline void PrintTo(ReasonCode code, std::ostream* out) { *out << "reason " << reason(code).code; }
inline void PrintTo(GpuClosure closure, std::ostream* out) {
  *out << "closure " << static_cast<int>(closure) << " (" << to_string(closure) << ")";
}
inline void PrintTo(GpuMode mode, std::ostream* out) { *out << "mode " << to_string(mode); }

/// The node of support/cluster.hpp's text with these holdings added up.
inline NodeStatePtr make_state(std::string_view node, std::vector<HoldingPtr> holdings = {}) {
  return add_up(std::make_shared<const NodeInventory>(make_mig_node(node)), std::move(holdings));
}

struct Fitted {
  ReasonCode reason = ReasonCode::kNone;
  std::vector<Placement> options;
};

/// All that the node offers; the list that fit() fills has held something else before.
inline Fitted fit_all(const NodeState& node, const GpuRequest& request, const Tenant& tenant = {}) {
  PlacementList list;
  for (std::uint16_t gpu = 0; gpu < 3; ++gpu) {
    list.add({.gpu = gpu});
    list.close();
  }
  FitMemo memo(request);
  Fitted fitted{.reason = fit(node, tenant, memo, list)};
  for (std::size_t i = 0; i < list.size(); ++i) fitted.options.push_back(list[i].copy());
  return fitted;
}

inline Profile make_profile(std::string_view term, std::int64_t weight = 1000) {
  return {.name = std::string(term), .terms = {{find_term(term), weight}}};
}

inline std::string describe(const GpuState& gpu) {
  return std::to_string(gpu.info->index) + "/" + gpu.info->uuid + " " +
         std::to_string(gpu.used_memory.value) + "/" + std::to_string(gpu.memory.value) + "MiB " +
         std::to_string(gpu.used_compute.value) + "m " + std::string(to_string(gpu.mode)) + " [" +
         std::string(to_string(gpu.closure)) + "] room " + std::to_string(gpu.room) + "\n";
}

/// Everything that a decision can see of the node.
inline std::string describe(const NodeState& node) {
  std::string text = node.name() + " room " + std::to_string(node.room) + " snug " +
                     std::to_string(node.snug_assigned) + " kubelet " +
                     std::to_string(node.kubelet_assigned) + " unplaced " +
                     std::to_string(node.unplaced) + "\n";
  for (const GpuState& gpu : node.gpus) text += "  " + describe(gpu);
  for (const auto& [resource, units] : node.kubelet_used) {
    if (units != 0) text += "  " + resource + "=" + std::to_string(units) + "\n";
  }
  for (const HoldingPtr& holding : node.holdings) text += "  held by " + holding->uid + "\n";
  return text;
}

/// Everything that a decision can see, node by node in order of their slots.
inline std::string describe(const Snapshot& snapshot) {
  std::string text;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (snapshot.nodes[i] == nullptr) continue;
    text += describe(*snapshot.nodes[i]);
    const auto intents = snapshot.intents.find(static_cast<std::uint32_t>(i));
    if (intents == snapshot.intents.end()) continue;
    for (const HoldingPtr& intent : intents->second) text += "  intent of " + intent->uid + "\n";
  }
  return text;
}

}  // namespace snug
