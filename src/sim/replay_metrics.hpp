// Collects the measurements of a replay. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

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
  /// The trace outlives it.
  explicit ReplayMetrics(const Trace& trace);

  /// How long one decision took.
  void decision_took(std::chrono::nanoseconds took) { decision_times_.push_back(took); }
  /// Called after each placement, in the order of arrivals. `given` is nullopt if the pod was
  /// refused.
  void pod_arrived(const TracePod& pod, const std::optional<AllocatedAmounts>& given,
                   ledger::Ledger& ledger);
  /// A pod that took `given` has left.
  void pod_left(const AllocatedAmounts& allocated) {
    used_milli_ -= allocated.milli;
    slices_used_ -= allocated.slices;
  }

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
  void add_curve_point(double x);
  void count_slices(const TracePod& pod, bool placed, bool counts);
  [[nodiscard]] std::optional<MigReport> mig_report() const;

  const Trace& trace_;
  std::int64_t capacity_milli_;  // milli-GPU
  bool churns_;
  std::vector<std::chrono::nanoseconds> decision_times_;
  SimulationReport report_;         // what is known of it as pods come
  std::int64_t used_milli_ = 0;     // milli-GPU
  std::int64_t arrived_milli_ = 0;  // milli-GPU
  DemandLevel at100_;
  DemandLevel at130_;

  /// Of the later half, where pods leave.
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

  /// Pods that ask for profiles.
  struct ProfilePods {
    std::int64_t pods = 0;
    std::int64_t rejected = 0;
  };
  std::int64_t total_slices_ = 0;  // memory slices that there are
  std::int64_t slices_used_ = 0;
  Mean slices_pct_;  // of the later half, where pods leave
  ProfilePods profile_pods_;
  ProfilePods large_profile_pods_;  // four memory slices or more

  std::vector<model::TypicalPod> typical_pods_;  // of the whole list
  /// By slot: the node's state when its fragment was worked out. Empty: not asked for yet.
  std::vector<model::NodeStatePtr> measured_states_;
  std::vector<std::int64_t> fragmentation_by_slot_;
};

}  // namespace snug::sim
