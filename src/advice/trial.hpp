// Tries to move a given set of pods so that a request fits on one node. A min-cost flow assigns a
// node to each pod, from counts of pods alone. Then fit() places the pods one after another, each
// on the cluster after the moves before it, and tries the flow's nodes first. Not thread-safe;
// serves one decision.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "advice/cluster.hpp"
#include "snug/fit/fit.hpp"

namespace snug {

struct RepackCandidate {
  Slot target = 0;  // the node for the request
  std::vector<Mover>
      movers;  // pods that leave the target, and pods that leave the others' new nodes
};

struct Repacking {
  std::vector<PodMove> moves;
  Reservation reservation;  // of the request
};

class RepackTrials {
 public:
  /// `memo` belongs to the claim's request. Both arguments must outlive it.
  RepackTrials(RepackCluster& cluster, FitMemo& memo) : cluster_(cluster), memo_(memo) {}

  /// nullopt: no solution was found within kMostRepackSteps for each placement of the request.
  [[nodiscard]] std::optional<Repacking> run(const RepackCandidate& candidate);
  /// Whether a pod of the kind fits on some node without any move.
  [[nodiscard]] bool has_place(std::size_t kind) { return !places(kind).empty(); }

 private:
  struct Worlds;
  struct Search;

  /// The kMostRepackPlaces fullest nodes on which a pod of the kind fits without any move, sorted
  /// by descending score.
  [[nodiscard]] const std::vector<Slot>& places(std::size_t kind);
  [[nodiscard]] std::vector<HoldingPtr> ways_of_request(const RepackCandidate& candidate,
                                                        const AfterMoves& cleared);
  [[nodiscard]] bool give_nodes(Search& search, const AfterMoves& last);
  [[nodiscard]] int copies(std::size_t kind, NodeStatePtr state, int most);
  [[nodiscard]] bool place_rest(Search& search, const Worlds& worlds);
  [[nodiscard]] bool place(Search& search, std::size_t mover, const Worlds& worlds);
  [[nodiscard]] bool place_on(Search& search, std::size_t mover, const Worlds& worlds, Slot slot);
  [[nodiscard]] static NodeStatePtr told_apart_on(const RepackCandidate& candidate,
                                                  const NodeState& node, const Holding* request);
  [[nodiscard]] bool finish(Search& search, const AfterMoves& now);
  [[nodiscard]] bool sound_on(const AfterMoves& after, Slot slot) const;

  RepackCluster& cluster_;
  FitMemo& memo_;
  std::map<std::size_t, std::vector<Slot>> places_;  // by kind
};

}  // namespace snug
