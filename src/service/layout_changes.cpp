#include "service/layout_changes.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "snug/mig/card_catalog.hpp"

namespace snug::service {
LayoutChanges::LayoutChanges(const model::Snapshot& snapshot) {
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const model::NodeInventory& node = *snapshot.nodes[slot]->inventory;
    if (node.closed_to_all != model::ReasonCode::kReconfiguring) continue;
    const auto comes = [&](std::string_view what) {
      const auto [first, is_new] = nodes_.try_emplace(what, node.name);
      if (!is_new) first->second = std::min(first->second, std::string_view(node.name));
    };
    for (const std::string& profile : node.expected_profiles) comes(profile);
    // nvidia.com/gpu means whole GPUs, or slices with the MIG strategy `single`.
    if (!node.expected_profiles.empty()) comes(model::kGpuResource);
  }
  if (!any()) return;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] == nullptr) continue;
    const model::NodeInventory& node = *snapshot.nodes[slot]->inventory;
    if (node.closed_to_all == model::ReasonCode::kReconfiguring) continue;
    for (const auto& [resource, units] : node.kubelet_allocatable) {
      if (units > 0) open_elsewhere_.insert(resource);
    }
  }
}

std::string_view LayoutChanges::awaited_by(const model::GpuRequest& request) const {
  for (const model::ContainerRequest& asked : request.containers) {
    const auto* kubelet = std::get_if<model::KubeletRequest>(&asked.device);
    if (kubelet == nullptr || open_elsewhere_.contains(kubelet->resource)) continue;
    const auto profile = mig::parse_resource_profile(mig::profile_in_resource(kubelet->resource));
    const auto node = nodes_.find(profile ? profile->canonical : kubelet->resource);
    if (node != nodes_.end()) return node->second;
  }
  return {};
}

void LayoutReporter::look_at(const model::Snapshot& snapshot, const PendingPods& pending) {
  const LayoutChanges changes(snapshot);
  if (!changes.any()) {
    reported_.clear();
    return;
  }
  for (const PendingRow& row : pending.rows()) {
    const model::PodFacts& pod = row.pod->facts;
    if (!row.pod->request) continue;
    const std::string_view node = changes.awaited_by(*row.pod->request);
    if (node.empty() || reported_.size() >= max_reported_) continue;
    if (!reported_.insert(pod.uid + " " + std::string(node)).second) continue;
    api_.warn({.name_space = pod.name_space,
               .pod = pod.name,
               .uid = pod.uid,
               .reason = "MigReconfiguring",
               .note = "node " + std::string(node) + ": " +
                       model::message(model::ReasonCode::kReconfiguring) +
                       "; no other node offers what the pod asks for"});
  }
}

}  // namespace snug::service
