#include "service/layout_changes.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "snug/mig/catalog.hpp"

namespace snug {
LayoutChanges::LayoutChanges(const Snapshot& snapshot) {
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const NodeInventory& node = *snapshot.nodes[slot]->inventory;
    if (node.closed_to_all != ReasonCode::kReconfiguring) continue;
    const auto comes = [&](std::string_view what) {
      const auto [first, is_new] = nodes_.try_emplace(what, node.name);
      if (!is_new) first->second = std::min(first->second, std::string_view(node.name));
    };
    for (const std::string& profile : node.coming_profiles) comes(profile);
    // Whole GPUs, or slices under the strategy `single`.
    if (!node.coming_profiles.empty()) comes(kGpuResource);
  }
  if (!any()) return;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const NodeInventory& node = *snapshot.nodes[slot]->inventory;
    if (node.closed_to_all == ReasonCode::kReconfiguring) continue;
    for (const auto& [resource, units] : node.kubelet_units) {
      if (units > 0) open_elsewhere_.insert(resource);
    }
  }
}

std::string_view LayoutChanges::awaited_by(const GpuRequest& request) const {
  for (const ContainerRequest& asked : request.containers) {
    const auto* kubelet = std::get_if<KubeletAsk>(&asked.ask);
    if (kubelet == nullptr || open_elsewhere_.contains(kubelet->resource)) continue;
    const auto profile = parse_profile_part(profile_part(kubelet->resource));
    const auto node = nodes_.find(profile ? profile->name : kubelet->resource);
    if (node != nodes_.end()) return node->second;
  }
  return {};
}

void LayoutReporter::look_at(const Snapshot& snapshot, const PendingPods& pending) {
  const LayoutChanges changes(snapshot);
  if (!changes.any()) {
    told_.clear();
    return;
  }
  for (const PendingRow& row : pending.rows()) {
    const PodFacts& pod = row.pod->facts;
    if (!row.pod->request) continue;
    const std::string_view node = changes.awaited_by(*row.pod->request);
    if (node.empty() || told_.size() >= max_told_) continue;
    if (!told_.insert(pod.uid + " " + std::string(node)).second) continue;
    api_.warn({.name_space = pod.name_space,
               .pod = pod.name,
               .uid = pod.uid,
               .reason = "MigReconfiguring",
               .note = "node " + std::string(node) + ": " + message(ReasonCode::kReconfiguring) +
                       "; no other node offers what the pod asks for"});
  }
}

}  // namespace snug
