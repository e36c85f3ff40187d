// Remembers why pods are where they are: filter notes its decision, and bind turns the note into a
// comparison of the chosen node with the runner-up, on the snapshot of the decision.
//
// Thread-safe. At most kMaxDecisionNotes notes and kMaxPlacementRecords comparisons are kept; the
// oldest are dropped first. The log is empty after a restart.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "snug/base/mutex.hpp"
#include "snug/explain/explanation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::service {

/// What filter decided.
struct DecisionNote {
  model::SnapshotPtr snapshot;  // never null
  std::string winner;
  std::string runner_up;  // the second-best node; empty: no other node was feasible
};

class PlacementLog {
 public:
  void note_decision(std::string_view uid, DecisionNote note);
  /// Removes the note of the pod and returns it.
  [[nodiscard]] std::optional<DecisionNote> take_decision(std::string_view uid);

  void note_placement(std::string_view uid, explain::PlacementComparison comparison);
  [[nodiscard]] std::optional<explain::PlacementComparison> placement_of(
      std::string_view uid) const;

 private:
  /// A map that drops its oldest entries.
  template <typename T>
  struct Recent {
    std::unordered_map<std::string, T, model::StringHash, std::equal_to<>> by_uid;
    std::deque<std::string> uids;  // the keys of by_uid, oldest first

    void put(std::string_view uid, T value, std::size_t most);
  };

  mutable base::Mutex mutex_;
  Recent<DecisionNote> decisions_ SNUG_GUARDED_BY(mutex_);
  Recent<explain::PlacementComparison> placements_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service
