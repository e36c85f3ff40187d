// Finds the pods that wait for a change of a node's MIG layout: pods that ask for slices by
// nvidia.com/* limits. During the change, no slice of the node is allocatable, so kube-scheduler's
// own filter refuses the pods and never calls Snug. An event and GET /v1/pods show what they wait
// for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/base/limits.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

/// The changes of MIG layouts in one snapshot, which must outlive this object.
class LayoutChanges {
 public:
  explicit LayoutChanges(const model::Snapshot& snapshot);

  [[nodiscard]] bool any() const { return !changing_nodes_.empty(); }
  /// The first node by name whose layout change may make the request feasible; empty: there is
  /// none. The request must name nvidia.com/mig-* or nvidia.com/gpu, the node's cards must be able
  /// to have that resource, and no node outside a layout change may offer it.
  [[nodiscard]] std::string_view awaited_by(const model::GpuRequest& request) const;

 private:
  /// For each MIG profile, and for nvidia.com/gpu: the node that may offer it after the change of
  /// the node's layout. If there are several such nodes, the first by name.
  std::map<std::string_view, std::string_view> changing_nodes_;
  std::set<std::string_view> open_elsewhere_;  // resources of nodes without a layout change
};

/// Writes an event on each pod that waits for a node's layout change, once for each pod and node.
/// Used by one thread.
class LayoutReporter {
 public:
  LayoutReporter(ApiPort& api, const base::Limits& limits)
      : api_(api), max_written_events_(static_cast<std::size_t>(limits.max_pending_pods)) {}

  void look_at(const model::Snapshot& snapshot, const PendingPods& pending);

 private:
  ApiPort& api_;
  std::size_t max_written_events_;
  std::unordered_set<std::string> written_events_;  // the pod uid and node of each event written
};

}  // namespace snug::service
