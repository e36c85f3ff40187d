// Learns the demand by counting pods. Each pod is counted once, when it is first seen, whether it
// is placed or refused later. Learning depends only on events, never on a clock, so the same events
// in the same order give the same tables (docs/decisions/0018).
//
// Pods that request no GPU, and pods that would not fit on any node even if it were empty, do not
// affect the tables. A learner stores all existing GPU pods, at most kMaxWaitingPods waiting pods
// and at most kMaxPodShapes pod shapes. If there are more shapes, all counts are halved, and shapes
// with a count below 1 are dropped. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/demand/demand_tables.hpp"
#include "snug/demand/gpu_supply.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::demand {

class DemandLearner {
 public:
  /// Records that a pod was created. Ignored if it requests no GPU or is already known.
  void pod_arrived(std::string_view uid, const PodShape& shape, const Supply& supply);
  /// Records a pod that already existed when learning began. It counts for the tables, but not as
  /// an arrival for the regime.
  void pod_was_present(std::string_view uid, const PodShape& shape);
  /// Records that the pod holds GPUs from now on. Ignored if the pod is not known.
  void pod_placed(std::string_view uid);
  /// Records that the pod has ended and holds nothing any more.
  void pod_left(std::string_view uid, const Supply& supply);
  /// Records that all known pods have ended except those in `living`.
  void retain(const std::unordered_set<std::string_view>& living, const Supply& supply);
  [[nodiscard]] bool knows(std::string_view uid) const { return live_pods_.contains(uid); }

  /// Whether build_tables() should be called again, because enough pods have been counted since its
  /// last call.
  [[nodiscard]] bool tables_due() const;
  /// Builds the tables anew from all counted pods. This takes less than a millisecond for a few
  /// hundred shapes, and tens of milliseconds for thousands of shapes that name GPU models.
  void build_tables(const Supply& supply);
  /// The current value for Demand::churn.
  [[nodiscard]] int churn() const { return churn_.level(); }
  /// The current value for Demand::saturation.
  [[nodiscard]] int saturation() const { return saturation_.level(); }
  /// The tables that were built last, for the current regime. Demand::version is 0.
  [[nodiscard]] model::Demand demand() const;

 private:
  struct LivePod {
    /// The requested GPUs, without CPU and memory. They are converted to milli-GPU only when the
    /// pod ends: pods may be listed before the nodes, and the memory of a GPU is not known until
    /// its node is listed.
    PodShape requested_gpus;
    bool placed = false;
  };

  /// A pod that requests one GPU, share or slice and has not been placed.
  struct WaitingPod {
    std::string uid;
    double milli = 0;
    int overtaken_by = 0;  // number of pods that arrived later and have been placed
  };

  /// Converts a ratio from 0 to 1 into a level from 0 to max_level. The level changes only if ratio
  /// * max_level differs from the current level by more than kRegimeHysteresis.
  class HysteresisLevel {
   public:
    explicit HysteresisLevel(int max_level) : max_level_(max_level) {}
    /// Sets the ratio. A ratio above 1 counts as 1.
    void update(double ratio);
    [[nodiscard]] int level() const { return level_; }

   private:
    int max_level_;
    int level_ = 0;
  };

  void add_live_pod(std::string_view uid, const PodShape& shape);
  void count_shape(const PodShape& shape);
  void forget_rarest_shapes();
  void start_waiting(std::string_view uid, double milli);
  void stop_waiting(std::string_view uid);
  void record_outcome(double milli, bool refused);
  void update_churn();

  ShapeCounts shape_counts_;
  std::unordered_map<std::string, LivePod, model::StringHash, std::equal_to<>> live_pods_;
  std::int64_t counted_pods_ = 0;
  std::int64_t next_build_at_ = 1;
  DemandTables tables_;
  // The members with `milli` in their names are moving averages over arrivals (demand/fitted.hpp).
  std::int64_t arrivals_ = 0;
  double arriving_milli_ = 0;
  double leaving_milli_ = 0;
  HysteresisLevel churn_{model::Demand::kFullChurn};
  double judged_milli_ = 0;
  double refused_milli_ = 0;
  HysteresisLevel saturation_{model::Demand::kFullSaturation};
  std::deque<WaitingPod> waiting_;  // in the order of arrival
};

}  // namespace snug::demand
