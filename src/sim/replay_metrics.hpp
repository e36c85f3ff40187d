// Collects the measurements of a replay. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/decision_times.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/demand.hpp"
#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim {

/// The capacity that a pod takes.
struct AllocatedAmounts {
  std::int64_t milli = 0;   // milli-GPU
  std::int64_t slices = 0;  // memory slices
};

class ReplayMetrics {
 public:
  /// The trace must outlive this object.
  explicit ReplayMetrics(const Trace& trace);

  /// Records how long one decision took.
  void decision_took(std::chrono::nanoseconds took) { times_.add(took); }
  /// Records an arrival. Must be called in the order of the arrivals, after the pod was placed or
  /// refused. `allocated` is what the pod takes; nullopt: it was refused.
  void pod_arrived(const TracePod& pod, const std::optional<AllocatedAmounts>& allocated,
                   ledger::Ledger& ledger);
  /// Records that a pod which took `allocated` has left, or would have left if it had been placed.
  void pod_left(const TracePod& pod, const AllocatedAmounts& allocated) {
    used_milli_ -= allocated.milli;
    slices_used_ -= allocated.slices;
    requested_milli_ -= pod.milli();
  }
  /// Returns when sample() must be called next, if that is before `time` or at it. Nullopt: not
  /// until then, or the curve is not a curve over time.
  [[nodiscard]] std::optional<double> next_sample_until(double time) const;
  /// Adds a point to the curve over time.
  void sample(double time);

  [[nodiscard]] SimulationReport report();

 private:
  struct Mean {
    double sum = 0;
    std::int64_t count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    [[nodiscard]] std::optional<double> get() const {
      if (count == 0) return std::nullopt;
      return sum / static_cast<double>(count);
    }
  };
  struct DemandLevel {
    Mean allocation;
    Mean fragmentation;
  };

  [[nodiscard]] double percent(std::int64_t milli) const {
    return capacity_milli_ == 0
               ? 0
               : 100.0 * static_cast<double>(milli) / static_cast<double>(capacity_milli_);
  }
  void count_rejected(const TracePod& pod);
  void measure_level(DemandLevel& level, ledger::Ledger& ledger);
  void count_later_half(const TracePod& pod, bool placed);
  [[nodiscard]] double fragmentation_pct(const model::Snapshot& snapshot);
  void extend_curve(std::size_t arrival, double level);
  void add_curve_point(double x);
  void count_slices(const TracePod& pod, bool placed, bool counts);
  [[nodiscard]] std::optional<MigReport> mig_report() const;

  const Trace& trace_;
  std::int64_t capacity_milli_;  // the cluster's milli-GPU
  bool churns_;
  DecisionTimes times_;
  SimulationReport report_;           // the values that are counted during the replay
  std::int64_t used_milli_ = 0;       // milli-GPU in use
  std::int64_t arrived_milli_ = 0;    // milli-GPU that all pods so far have asked for
  std::int64_t requested_milli_ = 0;  // the same, without pods that have left or would have left
  double sample_interval_ = 0;        // of the curve over time; 0: there is no such curve
  DemandLevel at100_;
  DemandLevel at130_;

  /// Counts over the later half of the arrivals, for a trace whose pods leave.
  struct LaterHalf {
    std::int64_t pods = 0;
    std::int64_t rejected = 0;
    std::int64_t milli = 0;
    std::int64_t milli_accepted = 0;
    std::int64_t multi = 0;
    std::int64_t multi_rejected = 0;
  };
  Mean allocation_;
  LaterHalf later_half_;

  /// Counts of pods that ask for MIG profiles.
  struct ProfilePods {
    std::int64_t pods = 0;
    std::int64_t rejected = 0;
  };
  std::int64_t total_slices_ = 0;  // memory slices of the cluster
  std::int64_t slices_used_ = 0;
  Mean slices_pct_;  // mean of the memory slices in use, in % of total_slices_
  ProfilePods profile_pods_;
  ProfilePods large_profile_pods_;  // pods whose profile has four or more memory slices

  std::vector<model::TypicalPod> typical_pods_;  // the typical pods of the whole trace
  /// By slot: the node state for which fragmentation_by_slot_ was computed. Empty before the first
  /// measurement.
  std::vector<model::NodeStatePtr> measured_states_;
  std::vector<std::int64_t> fragmentation_by_slot_;
};

}  // namespace snug::sim
