// Passes pod events to the demand learner, and publishes the learned demand to the ledger. It
// changes after a number of events, never with time. Used by the service and by the simulator.
//
// Thread-safe. The thread that reports an event builds the tables, without the ledger's lock.
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
  /// The ledger outlives it.
  explicit DemandTracker(Ledger& ledger) : ledger_(ledger) {}

  struct ObservedPod {
    std::string_view uid;
    demand::PodShape shape;
    bool placed = false;  // it is bound
  };
  /// A pod as it is now, that may have been seen before.
  void observe_pod(const ObservedPod& pod);
  /// All that live: the others are gone. The first list is what learning begins with, where no pod
  /// was seen before it.
  void observe_pod_list(std::span<const ObservedPod> pods);
  /// The nodes are in.
  void observe_nodes();
  /// It holds its GPUs from now on.
  void pod_placed(std::string_view uid);
  void pod_left(std::string_view uid);

 private:
  /// Measures supply anew where nodes have changed.
  void update_supply() SNUG_REQUIRES(mutex_);
  void publish_if_changed() SNUG_REQUIRES(mutex_);

  Ledger& ledger_;
  base::Mutex mutex_;
  demand::DemandLearner learner_ SNUG_GUARDED_BY(mutex_);
  demand::Supply supply_ SNUG_GUARDED_BY(mutex_);
  base::Generation supply_generation_
      SNUG_GUARDED_BY(mutex_);  // Snapshot::inventory_generation of `supply_`
  bool nodes_changed_ SNUG_GUARDED_BY(mutex_) = false;  // since the tables were built
  model::DemandPtr published_ SNUG_GUARDED_BY(mutex_){model::DemandPtr{}, &model::kNoDemand};
  bool learning_started_ SNUG_GUARDED_BY(mutex_) = false;  // a pod or a list has been seen
};

}  // namespace snug::ledger
