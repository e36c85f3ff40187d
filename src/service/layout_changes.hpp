// Pods that ask for MIG slices by limits, while a node's MIG layout is changed. Such a node has no
// slice allocatable, so kube-scheduler's own filter refuses the pods and never calls Snug: an event
// and GET /v1/pods show what they wait for.
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

/// Read from one snapshot, which must outlive this object.
class LayoutChanges {
 public:
  explicit LayoutChanges(const model::Snapshot& snapshot);

  [[nodiscard]] bool any() const { return !nodes_.empty(); }
  /// The node that the request may be waiting for: the request names nvidia.com/mig-* or
  /// nvidia.com/gpu, no other node offers that, and this is the first by name of the nodes whose
  /// layout is being changed and whose cards can have it. Empty: it waits for none.
  [[nodiscard]] std::string_view awaited_by(const model::GpuRequest& request) const;

 private:
  std::map<std::string_view, std::string_view> nodes_;  // by profile, or nvidia.com/gpu
  std::set<std::string_view> open_elsewhere_;           // resources
};

/// Writes one event on each pod and for each node that it waits for. Used by one thread.
class LayoutReporter {
 public:
  LayoutReporter(ApiPort& api, const base::Limits& limits)
      : api_(api), max_told_(static_cast<std::size_t>(limits.max_pending_pods)) {}

  void look_at(const model::Snapshot& snapshot, const PendingPods& pending);

 private:
  ApiPort& api_;
  std::size_t max_told_;
  std::unordered_set<std::string> reported_;  // uid and node; empty while no layout is changed
};

}  // namespace snug::service
