#include "snug/sim/replay.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/replay_metrics.hpp"
#include "sim/trace_conversion.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/units.hpp"

namespace snug::sim {
namespace {

/// When the pod of an arrival leaves, or would leave if it had been placed.
struct Departure {
  double at = 0;
  std::size_t arrival = 0;
  friend bool operator>(const Departure& a, const Departure& b) {
    return std::pair(a.at, a.arrival) > std::pair(b.at, b.arrival);
  }
};

struct FreeHost {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;

  [[nodiscard]] bool fits(const model::HostResources& requested) const {
    return requested.cpu_milli <= cpu_milli && requested.memory_bytes <= memory_bytes;
  }
  void take(const model::HostResources& requested) {
    cpu_milli -= requested.cpu_milli;
    memory_bytes -= requested.memory_bytes;
  }
  void give_back(const model::HostResources& requested) {
    cpu_milli += requested.cpu_milli;
    memory_bytes += requested.memory_bytes;
  }
};

class ReplayRun {
 public:
  ReplayRun(const ReplayInput& input, Placer& placer)
      : input_(input),
        trace_(input.trace),
        placer_(placer),
        ledger_(input.clock, limits_for(trace_)),
        requests_(requests_of(trace_)),
        node_of_(trace_.arrivals.size()),
        allocated_(trace_.arrivals.size()),
        placed_(trace_.arrivals.size()),
        candidates_(trace_.nodes.size()),
        measures_(trace_) {
    for (std::size_t rank = 0; rank < trace_.nodes.size(); ++rank) {
      model::NodeInventory inventory = make_inventory(trace_.nodes[rank], rank);
      const bool sliced = !inventory.gpus.empty() && inventory.gpus.front().mig_table;
      memory_slices_.push_back(sliced ? inventory.gpus.front().mig_table->memory_slices : 0);
      ledger_.put_node(std::move(inventory));
      const model::HostResources node_host = host_resources_of(trace_.nodes[rank]);
      free_hosts_.push_back({node_host.cpu_milli, node_host.memory_bytes});
    }
  }

  SimulationReport run() {
    const base::TimePoint start = input_.clock.now();
    for (std::size_t i = 0; i < trace_.arrivals.size(); ++i) {
      const double now = trace_.time_of(i);
      while (const auto sample_at = measures_.next_sample_until(now)) {
        depart_until(*sample_at);
        measures_.sample(*sample_at);
      }
      depart_until(now);
      arrive(i);
    }
    SimulationReport report = measures_.report();
    report.wall_s = std::chrono::duration<double>(input_.clock.now() - start).count();
    return report;
  }

 private:
  static base::Limits limits_for(const Trace& trace) {
    base::Limits limits;
    limits.max_nodes = std::max(limits.max_nodes, static_cast<std::int64_t>(trace.nodes.size()));
    return limits;
  }

  [[nodiscard]] const TracePod& pod_of(std::size_t arrival) const {
    return trace_.pods[trace_.arrivals[arrival].pod];
  }

  void depart_until(double time) {
    while (!departures_.empty() && departures_.top().at <= time) {
      const std::size_t departed = departures_.top().arrival;
      departures_.pop();
      measures_.pod_left(pod_of(departed), allocated_[departed]);
      if (!placed_[departed]) continue;
      free_hosts_[node_of_[departed]].give_back(host_resources_of(pod_of(departed)));
      const std::string uid = arrival_uid(departed);
      ledger_.end_pod(uid);
      placer_.pod_left(uid, ledger_);
    }
  }

  void arrive(std::size_t arrival) {
    const model::HostResources host = host_resources_of(pod_of(arrival));
    const std::string uid = arrival_uid(arrival);
    const ArrivingPod arriving{.uid = uid,
                               .pod = pod_of(arrival),
                               .request = requests_[trace_.arrivals[arrival].pod],
                               .host = host};
    placer_.pod_arrived(arriving, ledger_);
    const base::TimePoint start = input_.clock.now();
    const std::optional<base::NodeIndex> node =
        placer_.choose_node(arriving, candidates_for(host), ledger_);
    measures_.decision_took(input_.clock.now() - start);
    if (node) {
      placer_.commit(arriving, *node, ledger_);
      free_hosts_[node->value].take(host);
      node_of_[arrival] = node->value;
      placed_[arrival] = true;
    } else {
      placer_.pod_left(uid, ledger_);
    }
    if (const auto& lifetime = trace_.arrivals[arrival].lifetime)
      departures_.push({trace_.time_of(arrival) + *lifetime, arrival});
    const ArrivalOutcome outcome = outcome_of(arrival, uid);
    if (node) allocated_[arrival] = allocated_in(outcome, *node);
    measures_.pod_arrived(arriving.pod, node ? std::optional(allocated_[arrival]) : std::nullopt,
                          ledger_);
    if (input_.on_outcome) input_.on_outcome(outcome);
  }

  std::span<const base::NodeIndex> candidates_for(const model::HostResources& host) {
    std::size_t count = 0;
    for (std::uint32_t slot = 0; slot < free_hosts_.size(); ++slot) {
      candidates_[count] = base::NodeIndex{slot};
      count += free_hosts_[slot].fits(host) ? 1 : 0;
    }
    return std::span(candidates_).first(count);
  }

  /// What the pod takes on the node. The same MIG profile can be a different fraction of the GPU on
  /// different cards, so the milli-GPU of a slice depend on the node.
  [[nodiscard]] AllocatedAmounts allocated_in(const ArrivalOutcome& outcome,
                                              base::NodeIndex node) const {
    const TracePod& pod = pod_of(outcome.arrival);
    AllocatedAmounts allocated{.milli = pod.milli()};
    for (const PlacedSlice& placed_slice : outcome.slices)
      allocated.slices += placed_slice.slice.size;
    if (!pod.mig_profile.empty()) {
      allocated.milli = base::kWholeGpu.value * allocated.slices / memory_slices_[node.value];
    }
    return allocated;
  }

  [[nodiscard]] ArrivalOutcome outcome_of(std::size_t arrival, const std::string& uid) const {
    ArrivalOutcome outcome{.arrival = arrival, .node = std::nullopt, .gpus = {}};
    const auto ledger_entry = ledger_.find(uid);
    if (!ledger_entry) return outcome;
    outcome.node = node_of_[arrival];
    for (const model::ReservedContainer& container :
         ledger_entry->holding->reservation.containers) {
      for (const model::ReservedDevice& device : container.devices()) {
        outcome.gpus.push_back(device.index);
        if (device.slice) outcome.slices.push_back({device.index, *device.slice});
      }
    }
    std::ranges::sort(outcome.gpus);
    return outcome;
  }

  const ReplayInput& input_;
  const Trace& trace_;
  Placer& placer_;
  ledger::Ledger ledger_;
  std::vector<FreeHost> free_hosts_;  // free CPU and memory of the nodes, by rank
  std::vector<int> memory_slices_;    // memory slices of one GPU, by node; 0: not in MIG mode
  std::vector<model::GpuRequest> requests_;  // the requests of Trace::pods
  std::vector<std::uint32_t> node_of_;       // the node of each arrival that was placed
  std::vector<AllocatedAmounts> allocated_;  // what each arrival takes
  std::vector<bool> placed_;                 // whether each arrival was placed
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::vector<base::NodeIndex> candidates_;  // a buffer with room for all nodes
  ReplayMetrics measures_;
};

}  // namespace

SimulationReport replay(const ReplayInput& input, Placer& placer) {
  return ReplayRun(input, placer).run();
}

}  // namespace snug::sim
