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
    const auto expect_resource = [&](std::string_view resource) {
      const auto [first_node, is_new] = changing_nodes_.try_emplace(resource, node.name);
      if (!is_new) first_node->second = std::min(first_node->second, std::string_view(node.name));
    };
    for (const std::string& profile : node.expected_profiles) expect_resource(profile);
    // nvidia.com/gpu means whole GPUs, or slices with the MIG strategy `single`.
    if (!node.expected_profiles.empty()) expect_resource(model::kGpuResource);
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
  for (const model::ContainerRequest& container_request : request.containers) {
    const auto* kubelet_request = std::get_if<model::KubeletRequest>(&container_request.device);
    if (kubelet_request == nullptr || open_elsewhere_.contains(kubelet_request->resource)) continue;
    const auto profile =
        mig::parse_resource_profile(mig::profile_in_resource(kubelet_request->resource));
    const auto changing_node =
        changing_nodes_.find(profile ? profile->canonical : kubelet_request->resource);
    if (changing_node != changing_nodes_.end()) return changing_node->second;
  }
  return {};
}

void LayoutReporter::look_at(const model::Snapshot& snapshot, const PendingPods& pending) {
  const LayoutChanges layout_changes(snapshot);
  if (!layout_changes.any()) {
    written_events_.clear();
    return;
  }
  for (const PendingRow& pending_pod : pending.rows()) {
    const model::PodFacts& pod = pending_pod.pod->facts;
    if (!pending_pod.pod->request) continue;
    const std::string_view node = layout_changes.awaited_by(*pending_pod.pod->request);
    if (node.empty() || written_events_.size() >= max_written_events_) continue;
    if (!written_events_.insert(pod.uid + " " + std::string(node)).second) continue;
    api_.notify({.name_space = pod.name_space,
                 .name = pod.name,
                 .uid = pod.uid,
                 .reason = "MigReconfiguring",
                 .note = "node " + std::string(node) + ": " +
                         model::message(model::ReasonCode::kReconfiguring) +
                         "; no other node offers what the pod asks for"});
  }
}

}  // namespace snug::service
