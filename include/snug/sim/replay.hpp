// Replays a trace against a ledger, with the same fit, score and plan as the service. A node's name
// in the ledger is made from its rank, which is its position in Trace::nodes. So if nodes have
// equal scores, the one with the lowest rank wins. Like kube-scheduler, the replay filters the
// nodes by CPU and memory before it asks the placer.
//
// Not thread-safe. Each replay has its own ledger, so several replays may run at the same time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/ids.hpp"
#include "snug/demand/gpu_supply.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"
#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim {

/// A pod that arrives, as the placer sees it.
struct ArrivingPod {
  std::string_view uid;
  const TracePod& pod;
  const model::GpuRequest& request;  // empty: the pod asks for no GPU
  model::HostResources host;
};

/// Chooses a node for each pod, among those with enough CPU and memory. A placer serves only one
/// replay, so it may keep a pointer to the ledger.
class Placer {
 public:
  virtual ~Placer() = default;
  /// Called when a pod has arrived, before choose_node().
  virtual void pod_arrived(const ArrivingPod& /*arriving*/, ledger::Ledger& /*ledger*/) {}
  /// Returns the best of the candidates, without changing the ledger. Nullopt: the pod fits on none
  /// of them. `candidates` are the nodes' slots in the ledger, in ascending order. A node's slot
  /// equals its rank.
  virtual std::optional<base::NodeIndex> choose_node(const ArrivingPod& arriving,
                                                     std::span<const base::NodeIndex> candidates,
                                                     ledger::Ledger& ledger) = 0;
  /// Adds the pod of the last choose_node() to the ledger, as bound to the chosen node.
  virtual void commit(const ArrivingPod& arriving, base::NodeIndex node,
                      ledger::Ledger& ledger) = 0;
  /// Called when a pod has left, or was refused and is not tried again. The pod is not in the
  /// ledger.
  virtual void pod_left(std::string_view /*uid*/, ledger::Ledger& /*ledger*/) {}
};

/// A placer that decides as the service does, by a policy and by the demand that it learns from the
/// pods that have arrived.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(score::PolicyPtr policy);
/// A placer that decides by a policy and by a fixed demand. It calls `fixed_demand` once to get the
/// demand, and learns nothing.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(
    score::PolicyPtr policy, std::function<model::Demand(const demand::Supply&)> fixed_demand);

struct PlacedSlice {
  int gpu = 0;  // the GPU's index on its node
  model::Slice slice;
};

/// The outcome of one arrival.
struct ArrivalOutcome {
  std::size_t arrival = 0;          // position in Trace::arrivals
  std::optional<std::size_t> node;  // position in Trace::nodes; nullopt: the pod was refused
  std::vector<int> gpus;            // the indices of its GPUs on the node, ascending
  std::vector<PlacedSlice> slices{};
};

struct ReplayInput {
  const Trace& trace;
  const base::Clock& clock;  // the clock of the ledger and of all measurements
  std::function<void(const ArrivalOutcome&)> on_outcome;  // called after each arrival; may be empty
};

/// Replays the trace. The caller sets `policy` and `seed` of the report.
[[nodiscard]] SimulationReport replay(const ReplayInput& input, Placer& placer);

/// The typical pods of the whole trace, which the measurement of fragmentation uses.
[[nodiscard]] std::vector<model::TypicalPod> typical_pods_of(const Trace& trace,
                                                             const demand::Supply& supply);

}  // namespace snug::sim
