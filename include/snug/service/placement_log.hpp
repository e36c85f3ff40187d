// Remembers what explains decisions: filter notes its decision, and bind turns the note into a
// comparison of the chosen node with the runner-up, on the snapshot of the decision. If filter
// refuses the pod, it notes which nodes kube-scheduler offered.
//
// Thread-safe. At most kMaxDecisionNotes decisions, kMaxPlacementRecords placements and
// kMaxOfferRecords offers are kept; the oldest are dropped first. A repeated note counts as new.
// The log is empty after a restart.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/mutex.hpp"
#include "snug/explain/explanation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/service/offered_nodes.hpp"

namespace snug::service {

/// What filter decided.
struct DecisionNote {
  model::SnapshotPtr snapshot;  // never null
  std::string winner;
  std::string runner_up;  // the second-best node; empty: no other node was feasible
};

/// Why a bound pod is on its node.
struct PlacementRecord {
  explain::PlacementComparison comparison;
  std::vector<std::string> likely_mistakes;  // sentences of request::near_misses()
};

template <typename T>
class Recent;

class PlacementLog {
 public:
  PlacementLog();
  ~PlacementLog();
  PlacementLog(const PlacementLog&) = delete;
  PlacementLog& operator=(const PlacementLog&) = delete;

  /// Also forgets an earlier note_refusal() for the pod.
  void note_decision(std::string_view uid, DecisionNote note);
  /// Removes the note of the pod and returns it.
  [[nodiscard]] std::optional<DecisionNote> take_decision(std::string_view uid);

  void note_placement(std::string_view uid, PlacementRecord placement);
  [[nodiscard]] std::optional<PlacementRecord> placement_of(std::string_view uid) const;

  /// `offered`: null if kube-scheduler offered all nodes.
  void note_refusal(std::string_view uid, OfferedNodesPtr offered);
  /// The nodes that kube-scheduler offered when filter last refused the pod; null: all nodes;
  /// nullopt: not known.
  [[nodiscard]] std::optional<OfferedNodesPtr> offered_to(std::string_view uid) const;

 private:
  mutable base::Mutex mutex_;
  const std::unique_ptr<Recent<DecisionNote>> decisions_ SNUG_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<Recent<PlacementRecord>> placements_ SNUG_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<Recent<OfferedNodesPtr>> offers_ SNUG_PT_GUARDED_BY(mutex_);
  OfferedNodesPtr last_offer_ SNUG_GUARDED_BY(mutex_);  // shared by pods with equal offers
};

}  // namespace snug::service
