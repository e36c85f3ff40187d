// Replays a trace against a ledger, with the same fit, score and plan as the service. A node's name
// in the ledger is its rank, so that ties go to the lower rank. Like kube-scheduler, the replay
// filters nodes by CPU and memory before it asks the placer.
//
// Not thread-safe; each replay has a ledger of its own, so several may run at once.
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

/// One arrival, as a placer sees it.
struct ArrivingPod {
  std::string_view uid;
  const TracePod& pod;
  const model::GpuRequest& request;  // empty: asks for no GPU
  model::HostResources host;
};

/// Chooses among the nodes with enough CPU and memory. Serves one replay: it may keep a pointer to
/// the ledger.
class Placer {
 public:
  virtual ~Placer() = default;
  /// A pod has arrived and will be placed next.
  virtual void pod_arrived(const ArrivingPod& /*arriving*/, ledger::Ledger& /*ledger*/) {}
  /// Decides; the ledger is only looked at. Nothing: no candidate takes it. `candidates`: slots of
  /// the ledger, which are ranks, ascending.
  virtual std::optional<base::NodeIndex> choose_node(const ArrivingPod& arriving,
                                                     std::span<const base::NodeIndex> candidates,
                                                     ledger::Ledger& ledger) = 0;
  /// Puts the pod that was asked about last into the ledger, as bound to the node that was chosen.
  virtual void commit(const ArrivingPod& arriving, base::NodeIndex node,
                      ledger::Ledger& ledger) = 0;
  /// A pod has left, or was refused and is not tried again. The ledger knows.
  virtual void pod_left(std::string_view /*uid*/, ledger::Ledger& /*ledger*/) {}
};

/// Decides as the service does, by a policy and by the demand learned from the pods so far.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(score::PolicyPtr policy);
/// The same with a fixed demand: `known` is called once, and nothing is learned.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(
    score::PolicyPtr policy, std::function<model::Demand(const demand::Supply&)> known);

struct PlacedSlice {
  int gpu = 0;  // its index on the node
  model::Slice slice;
};

/// What has become of an arrival.
struct ArrivalOutcome {
  std::size_t arrival = 0;          // 0-based
  std::optional<std::size_t> node;  // position in Trace::nodes; nothing: it was refused
  std::vector<int> gpus;            // their indices there, ascending
  std::vector<PlacedSlice> slices{};
};

struct ReplayInput {
  const Trace& trace;
  const base::Clock& clock;  // for the times of decisions and of the whole run, and the ledger's
  std::function<void(const ArrivalOutcome&)> on_outcome;  // may be empty
};

/// `policy` and `seed` of the report are left for the caller.
[[nodiscard]] SimulationReport replay(const ReplayInput& input, Placer& placer);

/// The typical pods of a whole trace, by which fragmentation is measured.
[[nodiscard]] std::vector<model::TypicalPod> typical_pods_of(const Trace& trace,
                                                             const demand::Supply& supply);

}  // namespace snug::sim
