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

namespace snug {

/// The capacity that a pod takes.
struct GivenParts {
  std::int64_t milli = 0;   // milli-GPU
  std::int64_t slices = 0;  // memory slices
};

class Measures {
 public:
  /// The trace outlives it.
  explicit Measures(const Trace& trace);

  /// How long one decision took.
  void decided(std::chrono::nanoseconds took) { took_.push_back(took); }
  /// Called after each placement, in the order of arrivals. `given` is nullopt if the pod was
  /// refused.
  void arrived(const TracePod& pod, const std::optional<GivenParts>& given, Ledger& ledger);
  /// A pod that took `given` has left.
  void left(const GivenParts& given) {
    used_ -= given.milli;
    slices_used_ -= given.slices;
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
  struct Level {
    Mean allocation;
    Mean fragmentation;
  };

  [[nodiscard]] double percent(std::int64_t milli) const {
    return capacity_ == 0 ? 0 : 100.0 * static_cast<double>(milli) / static_cast<double>(capacity_);
  }
  void count_rejected(const TracePod& pod);
  void measure_level(Level& level, Ledger& ledger);
  void count_late(const TracePod& pod, bool placed);
  [[nodiscard]] double fragmented(const Snapshot& snapshot);
  void draw(double x);
  void count_slices(const TracePod& pod, bool placed, bool counts);
  [[nodiscard]] std::optional<MigReport> mig_report() const;

  const Trace& trace_;
  std::int64_t capacity_;  // milli-GPU
  bool churns_;
  std::vector<std::chrono::nanoseconds> took_;
  SimulationReport report_;   // what is known of it as pods come
  std::int64_t used_ = 0;     // milli-GPU
  std::int64_t arrived_ = 0;  // milli-GPU
  Level at100_;
  Level at130_;

  /// Of the later half, where pods leave.
  struct Late {
    std::int64_t pods = 0;
    std::int64_t rejected = 0;
    std::int64_t milli = 0;
    std::int64_t milli_accepted = 0;
    std::int64_t multi = 0;
    std::int64_t multi_rejected = 0;
  };
  Mean allocation_;
  Late late_;

  /// Pods that ask for profiles.
  struct Asked {
    std::int64_t pods = 0;
    std::int64_t rejected = 0;
  };
  std::int64_t slices_ = 0;  // memory slices that there are
  std::int64_t slices_used_ = 0;
  Mean slices_pct_;  // of the later half, where pods leave
  Asked asked_;
  Asked asked_much_;  // four memory slices or more

  std::vector<TypicalPod> typical_;  // of the whole list
  /// By slot: the node's state when its fragment was worked out. Empty: not asked for yet.
  std::vector<NodeStatePtr> known_;
  std::vector<std::int64_t> fragment_;
};

}  // namespace snug
