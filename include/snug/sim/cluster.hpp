// Simulates what a policy would do with the pods of a real cluster: as if they arrived at the
// cluster one after the other, at a time when no pod requested a GPU. The pods that request no GPU
// stay on their nodes and keep their CPU and memory. Like kube-scheduler, the simulation filters
// the nodes by their labels, taints, CPU, memory and number of pods before it asks the policy. It
// ignores priorities, pod affinity, spreading, host ports and volumes.
//
// Pure apart from the clock, which measures decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/ids.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/score/policy.hpp"
#include "snug/service/pod_info.hpp"
#include "snug/sim/node_selection.hpp"
#include "snug/sim/report.hpp"

namespace snug::sim {

struct ClusterNode {
  model::NodeInventory inventory;
  NodeTraits traits;
};

/// A pod that requests GPUs, or whose request is malformed.
struct ClusterPod {
  service::PodInfoPtr info;  // the uid is not empty, and unique
  NodeSelection selection;
  /// What the pod holds now; null: it is not bound to a node of the cluster.
  model::HoldingPtr holding;
};

struct Cluster {
  std::vector<ClusterNode> nodes;  // ascending by name
  std::vector<ClusterPod> pods;    // in the order of their arrival
  /// What the pods without GPU requests hold, and pods that the simulation does not move.
  std::vector<model::HoldingPtr> staying;
  /// The same, for pods that exist only because of today's scheduler. They are in the present state
  /// of the cluster and not in the simulated one.
  std::vector<model::HoldingPtr> leaving;
};

/// Counts the GPUs of the cluster as its pods use them now.
[[nodiscard]] GpuCounts count_gpus_now(const Cluster& cluster, const base::Clock& clock);

struct ClusterInput {
  const Cluster& cluster;
  score::PolicyPtr policy;
  const base::Clock& clock;
  std::function<void()> on_pod;  // called after each pod; may be empty
};

/// Simulates the cluster. The caller sets `policy` of the report.
[[nodiscard]] SimulationReport simulate_cluster(const ClusterInput& input);

}  // namespace snug::sim
