// The cluster as the search for repacking advice sees it: the nodes, with the intents of other pods
// counted as taken; the movable pods, with their requests; and the cluster after a sequence of
// moves. Also counts the work of the search. Not thread-safe. Each search has its own objects.
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

namespace snug::advice {

using Slot = std::uint32_t;  // a node's position in Snapshot::nodes

/// A class of pods that fit() and score() treat alike.
struct PodClass {
  PodClass(const model::Holding& pod, model::GpuRequest pod_request);

  std::string name_space;
  model::PodRank rank;  // the rank of the first pod in the class
  model::GpuRequest request;
  model::HostResources host;
  fit::FitMemo fit_memo;
};

/// A pod that may be moved.
struct MovablePod {
  Slot from = 0;
  model::HoldingPtr pod;
  std::size_t pod_class = 0;
  std::int64_t held_milli = 0;  // milli-GPU that the pod holds
};

class RepackCluster {
 public:
  /// `input` must outlive this object.
  explicit RepackCluster(const RepackInput& input);

  [[nodiscard]] const plan::IncomingPod& incoming() const { return input_.incoming; }
  [[nodiscard]] const model::Demand& demand() const { return *input_.snapshot.demand; }
  [[nodiscard]] const model::NamespaceUsage& namespace_usage() const {
    return input_.snapshot.namespace_usage;
  }
  /// All nodes, in the bytewise order of their names.
  [[nodiscard]] const std::vector<Slot>& by_name() const { return by_name_; }
  /// All nodes, those with the least free GPU capacity first.
  [[nodiscard]] const std::vector<Slot>& fullest_first() const { return fullest_first_; }
  /// The position of the node in by_name().
  [[nodiscard]] std::size_t rank(Slot slot) const { return ranks_[slot]; }
  /// The state of the node, with the intents of other pods counted as taken.
  [[nodiscard]] const model::NodeStatePtr& state(Slot slot) const { return states_[slot]; }
  /// The pods that are nominated to the node; null if there are none.
  [[nodiscard]] const model::Nominations* nominations(Slot slot) const {
    return input_.snapshot.nominations_on(slot);
  }

  /// The movable pods of the node, in descending order of milli-GPU, then by uid.
  [[nodiscard]] std::vector<MovablePod> movable_pods(Slot slot);
  [[nodiscard]] PodClass& pod_class(std::size_t number) { return *classes_[number]; }
  [[nodiscard]] std::size_t class_count() const { return classes_.size(); }
  /// A pod of the class as an incoming pod. Its score profiles and sharing rules are those of
  /// RepackInput::incoming.
  [[nodiscard]] plan::IncomingPod as_incoming(const PodClass& mover_class) const;
  /// The tenant of a pod that moves. It has no cap: the usage of its namespace still includes the
  /// pod, so a cap would count the pod twice.
  [[nodiscard]] fit::Tenant mover_tenant(const plan::IncomingPod& mover) const;

  /// Calls fit() and counts its work.
  [[nodiscard]] model::ReasonCode counted_fit(const model::NodeState& node,
                                              const fit::Tenant& tenant, fit::FitMemo& memo,
                                              model::PlacementList& options);
  /// Calls fit::with_holdings() and counts its work.
  [[nodiscard]] model::NodeStatePtr counted_with_holdings(const model::NodeState& node,
                                                          std::vector<model::HoldingPtr> holdings);
  /// The work of the search so far, in the unit of kMaxRepackWork.
  [[nodiscard]] std::int64_t work() const { return repack_work_; }
  void count_work(std::int64_t units) { repack_work_ += units; }

 private:
  [[nodiscard]] bool is_movable(const model::Holding& pod) const;
  [[nodiscard]] std::size_t class_of(const model::Holding& pod);

  const RepackInput& input_;
  std::vector<model::NodeStatePtr> states_;  // the state of each node, by slot
  std::vector<Slot> by_name_;
  std::vector<Slot> fullest_first_;
  std::vector<std::size_t> ranks_;  // the result of rank() for each node, by slot
  std::vector<std::unique_ptr<PodClass>> classes_;
  std::unordered_map<std::string, std::size_t> class_by_key_;
  std::int64_t repack_work_ = 0;
};

/// The cluster after some moves. Copies share the node states.
class ClusterAfterMoves {
 public:
  explicit ClusterAfterMoves(RepackCluster& cluster)
      : cluster_(&cluster), namespace_usage_(cluster.namespace_usage()) {}

  [[nodiscard]] const model::NodeStatePtr& state(Slot slot) const;
  [[nodiscard]] const model::NamespaceUsage& namespace_usage() const { return namespace_usage_; }
  /// Removes a pod from the node. The pod must be on the node.
  void remove_pod(Slot slot, const model::Holding& pod);
  void add_pod(Slot slot, const model::HoldingPtr& pod);
  /// The nodes that the moves have changed, with their new states.
  [[nodiscard]] const std::vector<std::pair<Slot, model::NodeStatePtr>>& changed() const {
    return changed_;
  }

 private:
  void set_holdings(Slot slot, std::vector<model::HoldingPtr> holdings);

  RepackCluster* cluster_;
  model::NamespaceUsage namespace_usage_;
  std::vector<std::pair<Slot, model::NodeStatePtr>> changed_;
};

}  // namespace snug::advice
