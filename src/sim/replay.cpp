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

#include "sim/measures.hpp"
#include "sim/trace_objects.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/units.hpp"

namespace snug {
namespace {

/// A pod of an arrival that leaves.
struct Departure {
  double at = 0;
  std::size_t arrival = 0;
  friend bool operator>(const Departure& a, const Departure& b) {
    return std::pair(a.at, a.arrival) > std::pair(b.at, b.arrival);
  }
};

struct HostRoom {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;

  [[nodiscard]] bool holds(const HostAmounts& asked) const {
    return asked.cpu_milli <= cpu_milli && asked.memory_bytes <= memory_bytes;
  }
  void take(const HostAmounts& asked) {
    cpu_milli -= asked.cpu_milli;
    memory_bytes -= asked.memory_bytes;
  }
  void give_back(const HostAmounts& asked) {
    cpu_milli += asked.cpu_milli;
    memory_bytes += asked.memory_bytes;
  }
};

class Run {
 public:
  Run(const ReplayInput& input, Placer& placer)
      : input_(input),
        trace_(input.trace),
        placer_(placer),
        ledger_(input.clock, limits_for(trace_)),
        requests_(requests_of(trace_)),
        node_of_(trace_.arrivals.size()),
        given_(trace_.arrivals.size()),
        candidates_(trace_.nodes.size()),
        measures_(trace_) {
    for (std::size_t rank = 0; rank < trace_.nodes.size(); ++rank) {
      NodeInventory inventory = inventory_of(trace_.nodes[rank], rank);
      const bool sliced = !inventory.gpus.empty() && inventory.gpus.front().mig_table;
      axes_.push_back(sliced ? inventory.gpus.front().mig_table->axis : 0);
      ledger_.put_node(std::move(inventory));
      const HostAmounts has = host_of(trace_.nodes[rank]);
      left_.push_back({has.cpu_milli, has.memory_bytes});
    }
  }

  SimulationReport run() {
    const TimePoint start = input_.clock.now();
    for (std::size_t i = 0; i < trace_.arrivals.size(); ++i) {
      leave_before(i);
      arrive(i);
    }
    SimulationReport report = measures_.report();
    report.wall_s = std::chrono::duration<double>(input_.clock.now() - start).count();
    return report;
  }

 private:
  static Limits limits_for(const Trace& trace) {
    Limits limits;
    limits.max_nodes = std::max(limits.max_nodes, static_cast<std::int64_t>(trace.nodes.size()));
    return limits;
  }

  [[nodiscard]] const TracePod& pod_of(std::size_t arrival) const {
    return trace_.pods[trace_.arrivals[arrival].pod];
  }

  void leave_before(std::size_t arrival) {
    while (!leaving_.empty() && leaving_.top().at <= static_cast<double>(arrival)) {
      const std::size_t gone = leaving_.top().arrival;
      leaving_.pop();
      left_[node_of_[gone]].give_back(host_of(pod_of(gone)));
      const std::string uid = arrival_uid(gone);
      ledger_.gone(uid);
      placer_.gone(uid, ledger_);
      measures_.left(given_[gone]);
    }
  }

  void arrive(std::size_t arrival) {
    const HostAmounts host = host_of(pod_of(arrival));
    const std::string uid = arrival_uid(arrival);
    const ArrivingPod arriving{.uid = uid,
                               .pod = pod_of(arrival),
                               .request = requests_[trace_.arrivals[arrival].pod],
                               .host = host};
    placer_.arrives(arriving, ledger_);
    const TimePoint start = input_.clock.now();
    const std::optional<NodeIndex> node = placer_.choose(arriving, candidates_for(host), ledger_);
    measures_.decided(input_.clock.now() - start);
    if (node) {
      placer_.hold(arriving, *node, ledger_);
      left_[node->value].take(host);
      node_of_[arrival] = node->value;
      if (const auto& lifetime = trace_.arrivals[arrival].lifetime) {
        leaving_.push({static_cast<double>(arrival) + *lifetime, arrival});
      }
    } else {
      placer_.gone(uid, ledger_);
    }
    const Outcome outcome = outcome_of(arrival, uid);
    if (node) given_[arrival] = given_in(outcome);
    measures_.arrived(arriving.pod, node ? std::optional(given_[arrival]) : std::nullopt, ledger_);
    if (input_.watcher) input_.watcher(outcome);
  }

  std::span<const NodeIndex> candidates_for(const HostAmounts& host) {
    std::size_t count = 0;
    for (std::uint32_t slot = 0; slot < left_.size(); ++slot) {
      candidates_[count] = NodeIndex{slot};
      count += left_[slot].holds(host) ? 1 : 0;
    }
    return std::span(candidates_).first(count);
  }

  /// A profile's name may be another part of another card.
  [[nodiscard]] GivenParts given_in(const Outcome& outcome) const {
    const TracePod& pod = pod_of(outcome.arrival);
    GivenParts given{.milli = pod.milli()};
    for (const PlacedSlice& placed : outcome.slices) given.slices += placed.slice.size;
    const int axis = axes_[*outcome.node];
    if (!pod.mig_profile.empty()) given.milli = kWholeGpu.value * given.slices / axis;
    return given;
  }

  [[nodiscard]] Outcome outcome_of(std::size_t arrival, const std::string& uid) const {
    Outcome outcome{.arrival = arrival, .node = std::nullopt, .gpus = {}};
    const auto entry = ledger_.find(uid);
    if (!entry) return outcome;
    outcome.node = node_of_[arrival];
    for (const ReservedContainer& container : entry->holding->reservation.containers) {
      const auto* devices = std::get_if<std::vector<ReservedDevice>>(&container.given);
      if (devices == nullptr) continue;
      for (const ReservedDevice& device : *devices) {
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
  Ledger ledger_;
  std::vector<HostRoom> left_;          // of the nodes, by rank
  std::vector<int> axes_;               // of their GPUs; 0: they take no slices
  std::vector<GpuRequest> requests_;    // of the trace's pods
  std::vector<std::uint32_t> node_of_;  // of the arrivals that were placed
  std::vector<GivenParts> given_;       // to the arrivals that were placed
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> leaving_;
  std::vector<NodeIndex> candidates_;  // room for all nodes
  Measures measures_;
};

}  // namespace

SimulationReport replay(const ReplayInput& input, Placer& placer) {
  return Run(input, placer).run();
}

}  // namespace snug
