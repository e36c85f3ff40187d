// Remembers why pods are where they are: filter notes its decision, and bind turns the note into a
// comparison of the chosen node with the runner-up, on the snapshot of the decision.
//
// Thread-safe. At most kMaxDecisionNotes notes and kMaxPlacementRecords comparisons are kept; the
// oldest are dropped first. A repeated note counts as new. The log is empty after a restart.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

template <typename T>
class Recent;

class PlacementLog {
 public:
  PlacementLog();
  ~PlacementLog();
  PlacementLog(const PlacementLog&) = delete;
  PlacementLog& operator=(const PlacementLog&) = delete;

  void note_decision(std::string_view uid, DecisionNote note);
  /// Removes the note of the pod and returns it.
  [[nodiscard]] std::optional<DecisionNote> take_decision(std::string_view uid);

  void note_placement(std::string_view uid, explain::PlacementComparison comparison);
  [[nodiscard]] std::optional<explain::PlacementComparison> placement_of(
      std::string_view uid) const;

 private:
  mutable base::Mutex mutex_;
  const std::unique_ptr<Recent<DecisionNote>> decisions_ SNUG_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<Recent<explain::PlacementComparison>> placements_
      SNUG_PT_GUARDED_BY(mutex_);
};

}  // namespace snug::service
