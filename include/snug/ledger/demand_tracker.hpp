// Passes pod events to the demand learner, and publishes the learned demand to the ledger. The
// learned demand changes with events, never with time. The service and the simulator use this
// class.
//
// Thread-safe. The thread that reports an event also builds the tables of the demand,
// without holding the ledger's mutex.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snug/base/mutex.hpp"
#include "snug/demand/demand_learner.hpp"
#include "snug/ledger/ledger.hpp"

namespace snug::ledger {

class DemandTracker {
 public:
  /// The ledger must outlive the tracker.
  explicit DemandTracker(Ledger& ledger) : ledger_(ledger) {}

  struct ObservedPod {
    std::string_view uid;
    demand::PodShape shape;
    bool placed = false;  // whether the pod is bound
  };
  /// Reports the current state of a pod, which may have been reported before.
  void observe_pod(const ObservedPod& pod);
  /// Reports all living pods: every other pod has ended. If nothing was reported before, the pods
  /// count as those that were there when learning began, not as arrivals.
  void observe_pod_list(std::span<const ObservedPod> pods);
  /// Must be called after a list of nodes was applied to the ledger.
  void observe_nodes();
  /// Reports that the pod holds its GPUs from now on.
  void pod_placed(std::string_view uid);
  void pod_left(std::string_view uid);

 private:
  /// Measures the supply again if the inventory of a node has changed.
  void update_supply() SNUG_REQUIRES(mutex_);
  void publish_if_changed() SNUG_REQUIRES(mutex_);

  Ledger& ledger_;
  base::Mutex mutex_;
  demand::DemandLearner learner_ SNUG_GUARDED_BY(mutex_);
  demand::Supply supply_ SNUG_GUARDED_BY(mutex_);
  /// The Snapshot::inventory_generation for which supply_ was measured.
  base::Generation supply_generation_ SNUG_GUARDED_BY(mutex_);
  /// Whether supply_ has changed since the tables were built.
  bool nodes_changed_ SNUG_GUARDED_BY(mutex_) = false;
  model::DemandPtr published_demand_ SNUG_GUARDED_BY(mutex_){model::DemandPtr{}, &model::kNoDemand};
  /// Whether a pod or a list of pods was reported.
  bool learning_started_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::ledger
