// Tries to move a given set of pods so that a request fits on one node. First a min-cost flow
// assigns a node to each pod, by the number of pods that each node can take. Then fit() places the
// pods one after another, and each placement takes the earlier moves into account. The nodes that
// the flow assigned are tried first. Not thread-safe. Each search has its own object.
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
  /// The pods that leave the target, and the pods that leave other nodes to make room for them.
  std::vector<MovablePod> departing;
};

struct RepackPlan {
  std::vector<PodMove> moves;
  model::Reservation reservation;  // the reservation of the request after the moves
};

class RepackTrials {
 public:
  /// `memo` must belong to the request for which capacity is to be freed. Both arguments must
  /// outlive this object.
  RepackTrials(RepackCluster& cluster, fit::FitMemo& memo) : cluster_(cluster), memo_(memo) {}

  /// Returns the moves of the candidate's pods; nullopt if no solution was found. Tries several
  /// placements of the request, each with at most kMaxRepackSteps steps.
  [[nodiscard]] std::optional<RepackPlan> run(const RepackCandidate& candidate);
  /// Whether a pod of the class fits on some node without any move.
  [[nodiscard]] bool has_node_for(std::size_t class_number) {
    return !nodes_for(class_number).empty();
  }

 private:
  struct ClusterStates;
  struct Trial;

  /// The kMaxRepackNodes fullest nodes on which a pod of this class fits without any move, the
  /// highest score first.
  [[nodiscard]] const std::vector<Slot>& nodes_for(std::size_t class_number);
  [[nodiscard]] std::vector<model::HoldingPtr> request_placements(
      const RepackCandidate& candidate, const ClusterAfterMoves& after_departures);
  [[nodiscard]] bool assign_nodes(Trial& trial, const ClusterAfterMoves& last);
  [[nodiscard]] int capacity_for(std::size_t class_number, model::NodeStatePtr state, int max_pods);
  [[nodiscard]] bool place_remaining(Trial& trial, const ClusterStates& states);
  [[nodiscard]] bool place(Trial& trial, std::size_t mover, const ClusterStates& states);
  [[nodiscard]] bool place_on(Trial& trial, std::size_t mover, const ClusterStates& states,
                              Slot slot);
  [[nodiscard]] static model::NodeStatePtr with_distinct_gpus_on(const RepackCandidate& candidate,
                                                                 const model::NodeState& node,
                                                                 const model::Holding* request);
  [[nodiscard]] bool accept(Trial& trial, const ClusterAfterMoves& after_moves);
  [[nodiscard]] bool closes_nothing_on(const ClusterAfterMoves& after_moves, Slot slot) const;

  RepackCluster& cluster_;
  fit::FitMemo& memo_;
  std::map<std::size_t, std::vector<Slot>> nodes_by_class_;  // results of nodes_for()
};

}  // namespace snug::advice
