// Whether some pods can be moved so that a request fits on one node, and where to. The room that
// they share is told apart in two steps: a min-cost flow gives each a node, as far as counts of
// pods alone can say; then they are placed one after another by fit, on the cluster as it becomes,
// the flow's nodes first. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "plan/repack_cluster.hpp"
#include "snug/fit/fit.hpp"

namespace snug {

struct RepackCandidate {
  Slot target = 0;            // where the request is to fit
  std::vector<Mover> movers;  // without whom it does, and whoever makes room for them elsewhere
};

struct Repacking {
  std::vector<PodMove> moves;
  Reservation reservation;  // the request's
};

class RepackTrials {
 public:
  /// `memo`: of the claim's request. All outlive it.
  RepackTrials(RepackCluster& cluster, FitMemo& memo) : cluster_(cluster), memo_(memo) {}

  /// Nothing: no way was found, within kMostRepackSteps for each way to place the request.
  [[nodiscard]] std::optional<Repacking> run(const RepackCandidate& candidate);
  /// Whether some node has room for a pod of the kind as it is.
  [[nodiscard]] bool has_place(std::size_t kind) { return !places(kind).empty(); }

 private:
  struct Worlds;
  struct Search;

  /// Nodes that have room for pods of a kind as they are, of the fullest that have so many as are
  /// enough, the best by score first.
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
