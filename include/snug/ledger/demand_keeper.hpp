// Feeds what happens to pods to the learner, and what it has learned to the ledger: what is learned
// changes with a number of events, never with time. The service and the simulator use the same.
//
// Thread-safe. Tables are made outside of the ledger's lock, by the thread that reports the event.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

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
  void look_at_nodes();
  void publish();

  Ledger& ledger_;
  std::mutex mutex_;
  // Guarded by mutex_.
  DemandLearner learner_;
  Supply supply_;
  Generation known_;            // Snapshot::inventories of `supply_`
  bool nodes_changed_ = false;  // since the tables were made
  DemandPtr published_{DemandPtr{}, &kNothingLearned};
  bool began_ = false;
};

}  // namespace snug
