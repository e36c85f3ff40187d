// The cluster as repacking sees it: nodes with the intents of other pods counted as taken, the pods
// that may be moved with their requests, and the cluster after a sequence of moves. Counts the work
// of the search. Not thread-safe; serves one decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "snug/advice/repack.hpp"
#include "snug/fit/fit.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

using Slot = std::uint32_t;  // of Snapshot::nodes

/// A class of pods that are equal to fit() and to score().
struct MoverKind {
  MoverKind(const Holding& pod, GpuRequest asked);

  std::string name_space;
  PodRank rank;  // of the first pod in the class
  GpuRequest request;
  HostAmounts host;
  FitMemo memo;
};

/// A pod that may be moved.
struct Mover {
  Slot from = 0;
  HoldingPtr pod;
  std::size_t kind = 0;
  std::int64_t milli = 0;  // milli-GPU that it holds
};

class RepackCluster {
 public:
  /// The input outlives it.
  explicit RepackCluster(const RepackInput& input);

  [[nodiscard]] const Claim& claim() const { return input_.claim; }
  [[nodiscard]] const Demand& demand() const { return *input_.snapshot.demand; }
  [[nodiscard]] const NamespaceUse& held() const { return input_.snapshot.held; }
  /// All nodes, in the bytewise order of their names.
  [[nodiscard]] const std::vector<Slot>& by_name() const { return by_name_; }
  /// All nodes, those with the least free GPU capacity first.
  [[nodiscard]] const std::vector<Slot>& fullest_first() const { return fullest_first_; }
  /// Its position in by_name().
  [[nodiscard]] std::size_t rank(Slot slot) const { return ranks_[slot]; }
  /// The node, with the intents of other pods counted as taken.
  [[nodiscard]] const NodeStatePtr& state(Slot slot) const { return states_[slot]; }
  /// The pods that are nominated to the node; null: none.
  [[nodiscard]] const Nominations* nominations(Slot slot) const;

  /// The pods of the node that may be moved, in descending order of milli-GPU, then by uid.
  [[nodiscard]] std::vector<Mover> movers(Slot slot);
  [[nodiscard]] MoverKind& kind(std::size_t number) { return *kinds_[number]; }
  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }
  /// A claim for a pod of the kind, with the scoring profiles and sharing rules of the input's
  /// claim.
  [[nodiscard]] Claim claim_of(const MoverKind& kind) const;

  /// Calls fit() and counts its work.
  [[nodiscard]] ReasonCode fit_on(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                                  PlacementList& options);
  /// Calls with_holdings() and counts its work.
  [[nodiscard]] NodeStatePtr with_holdings_on(const NodeState& node,
                                              std::vector<HoldingPtr> holdings);
  /// The work so far, in the unit of kMostRepackWork.
  [[nodiscard]] std::int64_t work() const { return work_; }
  void count_work(std::int64_t units) { work_ += units; }

 private:
  [[nodiscard]] bool may_move(const Holding& pod) const;
  [[nodiscard]] std::size_t kind_of(const Holding& pod);

  const RepackInput& input_;
  std::vector<NodeStatePtr> states_;  // by slot
  std::vector<Slot> by_name_;
  std::vector<Slot> fullest_first_;
  std::vector<std::size_t> ranks_;  // by slot
  std::vector<std::unique_ptr<MoverKind>> kinds_;
  std::unordered_map<std::string, std::size_t> kinds_by_text_;
  std::int64_t work_ = 0;
};

/// The cluster after some moves. Copies share the unchanged nodes.
class AfterMoves {
 public:
  explicit AfterMoves(RepackCluster& cluster) : cluster_(&cluster), held_(cluster.held()) {}

  [[nodiscard]] const NodeStatePtr& state(Slot slot) const;
  [[nodiscard]] const NamespaceUse& held() const { return held_; }
  /// Precondition: the pod is on the node.
  void remove_pod(Slot slot, const Holding& pod);
  void add_pod(Slot slot, const HoldingPtr& pod);
  /// The nodes that the moves have changed, in their new state.
  [[nodiscard]] const std::vector<std::pair<Slot, NodeStatePtr>>& changed() const {
    return changed_;
  }

 private:
  void put(Slot slot, std::vector<HoldingPtr> holdings);

  RepackCluster* cluster_;
  NamespaceUse held_;
  std::vector<std::pair<Slot, NodeStatePtr>> changed_;
};

}  // namespace snug
