// Learns the demand by counting pods: once each, by uid, when first seen, whether placed or
// refused. Driven by events alone, never by a clock, so that the same events in the same order give
// the same tables (docs/decisions/0018).
//
// Not counted: pods that ask for no GPU, and pods that would fit on no node even if it were empty.
// Memory: the living pods, kMaxWaitingPods waiting pods and kMaxPodShapes shapes; when there are
// more shapes, all counts are halved and those below 1 are dropped. Not thread-safe.
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
  /// A pod was created. Ignored if it asks for no GPU or is known.
  void pod_arrived(std::string_view uid, const PodShape& shape, const Supply& supply);
  /// A pod existed when learning began: counted, but it is no arrival for the regime.
  void pod_was_present(std::string_view uid, const PodShape& shape);
  /// The pod holds GPUs from now on. Ignored if the pod is not known.
  void pod_placed(std::string_view uid);
  /// The pod ended; what it held is free.
  void pod_left(std::string_view uid, const Supply& supply);
  /// All known pods but these have ended.
  void retain(const std::unordered_set<std::string_view>& living, const Supply& supply);
  [[nodiscard]] bool knows(std::string_view uid) const { return live_pods_.contains(uid); }

  /// Whether enough pods have arrived since the last build_tables().
  [[nodiscard]] bool tables_due() const;
  /// Takes less than a millisecond for some hundred shapes, some tens of milliseconds if thousands
  /// of them name models.
  void build_tables(const Supply& supply);
  /// As Demand::churn.
  [[nodiscard]] int churn() const { return churn_.level(); }
  /// As Demand::saturation.
  [[nodiscard]] int saturation() const { return saturation_.level(); }
  /// The tables and the regime; Demand::version is 0.
  [[nodiscard]] model::Demand demand() const;

 private:
  struct LivePod {
    /// Its GPUs alone. Converted to milli-GPU when the pod ends, since pods may be listed before
    /// the nodes that state a GPU's memory.
    PodShape asks;
    bool placed = false;
  };

  /// A pod with one GPU, share or slice that has not been placed.
  struct WaitingPod {
    std::string uid;
    double milli = 0;
    int overtaken_by = 0;  // pods that arrived later and have been placed
  };

  /// A value from 0 to 1 in whole steps, with hysteresis (kRegimeHysteresis).
  class HysteresisLevel {
   public:
    explicit HysteresisLevel(int max_level) : max_level_(max_level) {}
    /// Values above 1 count as 1.
    void update(double value);
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
  // Moving averages of milli-GPU (demand/fitted.hpp).
  std::int64_t arrivals_ = 0;
  double arriving_milli_ = 0;
  double leaving_milli_ = 0;
  HysteresisLevel churn_{model::Demand::kFullChurn};
  double judged_milli_ = 0;
  double refused_milli_ = 0;
  HysteresisLevel saturation_{model::Demand::kFullSaturation};
  std::deque<WaitingPod> waiting_;  // by arrival
};

}  // namespace snug::demand
