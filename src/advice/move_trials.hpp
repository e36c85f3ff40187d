// Tries to move a given set of pods so that a request fits on one node. A min-cost flow assigns a
// node to each pod, from counts of pods alone. Then fit() places the pods one after another, each
// on the cluster after the moves before it, and tries the flow's nodes first. Not thread-safe;
// serves one decision.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "advice/cluster_states.hpp"
#include "snug/fit/fit.hpp"

namespace snug::advice {

struct RepackCandidate {
  Slot target = 0;  // the node for the request
  std::vector<MovablePod>
      departing;  // pods that leave the target, and pods that leave the others' new nodes
};

struct RepackPlan {
  std::vector<PodMove> moves;
  model::Reservation reservation;  // of the request
};

class RepackTrials {
 public:
  /// `memo` is of the request for which capacity is to be freed. Both arguments must outlive this
  /// object.
  RepackTrials(RepackCluster& cluster, fit::FitMemo& memo) : cluster_(cluster), memo_(memo) {}

  /// nullopt: no solution was found within kMaxRepackSteps for each placement of the request.
  [[nodiscard]] std::optional<RepackPlan> run(const RepackCandidate& candidate);
  /// Whether a pod of the kind fits on some node without any move.
  [[nodiscard]] bool has_node_for(std::size_t kind) { return !nodes_for(kind).empty(); }

 private:
  struct ClusterStates;
  struct Trial;

  /// The kMaxRepackNodes fullest nodes on which a pod of the kind fits without any move, sorted
  /// by descending score.
  [[nodiscard]] const std::vector<Slot>& nodes_for(std::size_t kind);
  [[nodiscard]] std::vector<model::HoldingPtr> request_placements(const RepackCandidate& candidate,
                                                                  const ClusterAfterMoves& cleared);
  [[nodiscard]] bool assign_nodes(Trial& trial, const ClusterAfterMoves& last);
  [[nodiscard]] int capacity_for(std::size_t kind, model::NodeStatePtr state, int most);
  [[nodiscard]] bool place_remaining(Trial& trial, const ClusterStates& states);
  [[nodiscard]] bool place(Trial& trial, std::size_t mover, const ClusterStates& states);
  [[nodiscard]] bool place_on(Trial& trial, std::size_t mover, const ClusterStates& states,
                              Slot slot);
  [[nodiscard]] static model::NodeStatePtr with_distinct_gpus_on(const RepackCandidate& candidate,
                                                                 const model::NodeState& node,
                                                                 const model::Holding* request);
  [[nodiscard]] bool accept(Trial& trial, const ClusterAfterMoves& now);
  [[nodiscard]] bool closes_nothing_on(const ClusterAfterMoves& after, Slot slot) const;

  RepackCluster& cluster_;
  fit::FitMemo& memo_;
  std::map<std::size_t, std::vector<Slot>> nodes_by_class_;  // by kind
};

}  // namespace snug::advice
