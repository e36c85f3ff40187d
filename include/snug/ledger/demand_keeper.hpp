// Passes pod events to the demand learner, and publishes the learned demand to the ledger. It
// changes after a number of events, never with time. Used by the service and by the simulator.
//
// Thread-safe. The thread that reports an event builds the tables, without the ledger's lock.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snug/base/mutex.hpp"
#include "snug/demand/learner.hpp"
#include "snug/ledger/ledger.hpp"

namespace snug {

class DemandKeeper {
 public:
  /// The ledger outlives it.
  explicit DemandKeeper(Ledger& ledger) : ledger_(ledger) {}

  struct Seen {
    std::string_view uid;
    PodShape shape;
    bool placed = false;  // it is bound
  };
  /// A pod as it is now, that may have been seen before.
  void seen(const Seen& pod);
  /// All that live: the others are gone. The first list is what learning begins with, where no pod
  /// was seen before it.
  void listed(std::span<const Seen> pods);
  /// The nodes are in.
  void nodes_listed();
  /// It holds its GPUs from now on.
  void placed(std::string_view uid);
  void gone(std::string_view uid);

 private:
  /// Measures supply anew where nodes have changed.
  void look_at_nodes() SNUG_REQUIRES(mutex_);
  void publish() SNUG_REQUIRES(mutex_);

  Ledger& ledger_;
  Mutex mutex_;
  DemandLearner learner_ SNUG_GUARDED_BY(mutex_);
  Supply supply_ SNUG_GUARDED_BY(mutex_);
  Generation known_ SNUG_GUARDED_BY(mutex_);            // Snapshot::inventories of `supply_`
  bool nodes_changed_ SNUG_GUARDED_BY(mutex_) = false;  // since the tables were built
  DemandPtr published_ SNUG_GUARDED_BY(mutex_){DemandPtr{}, &kNothingLearned};
  bool began_ SNUG_GUARDED_BY(mutex_) = false;  // a pod or a list has been seen
};

}  // namespace snug
