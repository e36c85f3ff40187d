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
#include "snug/demand/supply.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/node.hpp"
#include "snug/model/request.hpp"
#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug {

/// One arrival, as a placer sees it.
struct ArrivingPod {
  std::string_view uid;
  const TracePod& pod;
  const GpuRequest& request;  // empty: asks for no GPU
  HostAmounts host;
};

/// Chooses among the nodes with enough CPU and memory. Serves one replay: it may keep a pointer to
/// the ledger.
class Placer {
 public:
  virtual ~Placer() = default;
  /// A pod has arrived and will be placed next.
  virtual void arrives(const ArrivingPod& /*arriving*/, Ledger& /*ledger*/) {}
  /// Decides; the ledger is only looked at. Nothing: no candidate takes it. `candidates`: slots of
  /// the ledger, which are ranks, ascending.
  virtual std::optional<NodeIndex> choose(const ArrivingPod& arriving,
                                          std::span<const NodeIndex> candidates,
                                          Ledger& ledger) = 0;
  /// Puts the pod that was asked about last into the ledger, as bound to the node that was chosen.
  virtual void hold(const ArrivingPod& arriving, NodeIndex node, Ledger& ledger) = 0;
  /// A pod has left, or was refused and is not tried again. The ledger knows.
  virtual void gone(std::string_view /*uid*/, Ledger& /*ledger*/) {}
};

/// Decides as the service does, by a policy and by the demand learned from the pods so far.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(PolicyPtr policy);
/// The same with a fixed demand: `known` is called once, and nothing is learned.
[[nodiscard]] std::unique_ptr<Placer> policy_placer(PolicyPtr policy,
                                                    std::function<Demand(const Supply&)> known);

struct PlacedSlice {
  int gpu = 0;  // its index on the node
  Slice slice;
};

/// What has become of an arrival.
struct Outcome {
  std::size_t arrival = 0;          // 0-based
  std::optional<std::size_t> node;  // position in Trace::nodes; nothing: it was refused
  std::vector<int> gpus;            // their indices there, ascending
  std::vector<PlacedSlice> slices{};
};

struct ReplayInput {
  const Trace& trace;
  const Clock& clock;  // for the times of decisions and of the whole run, and the ledger's
  std::function<void(const Outcome&)> watcher;  // may be empty
};

/// `policy` and `seed` of the report are left for the caller.
[[nodiscard]] SimulationReport replay(const ReplayInput& input, Placer& placer);

/// The typical pods of a whole trace, by which fragmentation is measured.
[[nodiscard]] std::vector<TypicalPod> typical_of(const Trace& trace, const Supply& supply);

}  // namespace snug
