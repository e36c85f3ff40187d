// Whether some pods can be moved so that a request fits on one node, and where to. In two steps: a
// min-cost flow assigns each pod a node, by counts of pods alone; then the pods are placed one
// after another by fit, each on the cluster as the moves before it leave it, the flow's nodes
// first. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "advice/cluster.hpp"
#include "snug/fit/fit.hpp"

namespace snug {

struct RepackCandidate {
  Slot target = 0;            // where the request is to fit
  std::vector<Mover> movers;  // those that leave it, and those that make room for them elsewhere
};

struct Repacking {
  std::vector<PodMove> moves;
  Reservation reservation;  // the request's
};

class RepackTrials {
 public:
  /// `memo`: of the claim's request. All outlive it.
  RepackTrials(RepackCluster& cluster, FitMemo& memo) : cluster_(cluster), memo_(memo) {}

  /// Nothing: none was found within kMostRepackSteps for each placement of the request.
  [[nodiscard]] std::optional<Repacking> run(const RepackCandidate& candidate);
  /// Whether a pod of the kind fits on some node without any move.
  [[nodiscard]] bool has_place(std::size_t kind) { return !places(kind).empty(); }

 private:
  struct Worlds;
  struct Search;

  /// Nodes on which a pod of the kind fits without any move: the kMostRepackPlaces fullest, the
  /// best by score first.
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
