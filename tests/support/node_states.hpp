// Makes node states and policy profiles, and describes snapshots as text, for tests of the layers
// fit, score and plan. Pure.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"
#include "support/mig_nodes.hpp"
#include "support/test_objects.hpp"

namespace snug {

inline void PrintTo(model::ReasonCode code, std::ostream* out) {
  *out << "reason " << model::reason_row(code).code;
}
inline void PrintTo(model::GpuClosure closure, std::ostream* out) {
  *out << "closure " << static_cast<int>(closure) << " (" << model::to_string(closure) << ")";
}
inline void PrintTo(model::GpuMode mode, std::ostream* out) {
  *out << "mode " << model::to_string(mode);
}

/// Makes the state of a node with these holdings. support/test_objects.hpp explains the text
/// `node`.
inline model::NodeStatePtr make_state(std::string_view node,
                                      std::vector<model::HoldingPtr> holdings = {}) {
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(make_mig_node(node)),
                               std::move(holdings));
}

struct FitResult {
  model::ReasonCode reason = model::ReasonCode::kNone;
  std::vector<model::Placement> options;
};

/// Returns all placements that fit() finds. fit() gets a list that already has entries, to check
/// that it clears them.
inline FitResult fit_all(const model::NodeState& node, const model::GpuRequest& request,
                         const fit::Tenant& tenant = {}) {
  model::PlacementList list;
  for (std::uint16_t gpu = 0; gpu < 3; ++gpu) {
    list.add({.gpu = gpu});
    list.close();
  }
  fit::FitMemo memo(request);
  FitResult fitted{.reason = fit::fit(node, tenant, memo, list)};
  for (std::size_t i = 0; i < list.size(); ++i) fitted.options.push_back(list[i].copy());
  return fitted;
}

inline score::Profile make_profile(std::string_view term, std::int64_t weight = 1000) {
  return {.name = std::string(term), .terms = {{score::find_term(term), weight}}};
}

inline std::string describe(const model::GpuState& gpu) {
  return std::to_string(gpu.info->index) + "/" + gpu.info->uuid + " " +
         std::to_string(gpu.used_memory.value) + "/" + std::to_string(gpu.memory.value) + "MiB " +
         std::to_string(gpu.used_compute.value) + "m " + std::string(model::to_string(gpu.mode)) +
         " [" + std::string(model::to_string(gpu.closure)) + "] room " +
         std::to_string(gpu.free_milli_sum) + "\n";
}

/// Describes everything in the node's state that a decision can read.
inline std::string describe(const model::NodeState& node) {
  std::string text = node.name() + " room " + std::to_string(node.free_milli_sum) + " snug " +
                     std::to_string(node.snug_assigned_pods) + " kubelet " +
                     std::to_string(node.kubelet_assigned_pods) + " unplaced " +
                     std::to_string(node.unplaced_pods) + "\n";
  for (const model::GpuState& gpu : node.gpus) text += "  " + describe(gpu);
  for (const auto& [resource, units] : node.kubelet_used) {
    if (units != 0) text += "  " + resource + "=" + std::to_string(units) + "\n";
  }
  for (const model::HoldingPtr& holding : node.holdings) text += "  held by " + holding->uid + "\n";
  return text;
}

/// Describes all nodes of the snapshot and their intents, in the order of the node table.
inline std::string describe(const model::Snapshot& snapshot) {
  std::string text;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (snapshot.nodes[i] == nullptr) continue;
    text += describe(*snapshot.nodes[i]);
    const auto intents = snapshot.intents.find(static_cast<std::uint32_t>(i));
    if (intents == snapshot.intents.end()) continue;
    for (const model::HoldingPtr& intent : intents->second)
      text += "  intent of " + intent->uid + "\n";
  }
  return text;
}

}  // namespace snug
