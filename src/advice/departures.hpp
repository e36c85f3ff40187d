// Finds sets of pods whose departure from a node makes a request fit there. Caches the result for
// each set. Not thread-safe; for one node and one request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "advice/cluster_states.hpp"
#include "snug/plan/placement_finder.hpp"

namespace snug::advice {

/// A set of movable pods of one node: element i is pod i of DepartureSearch::movable_pods().
using DepartureSet = std::vector<bool>;

class DepartureSearch {
 public:
  /// The arguments must outlive this object. If pods are nominated to the node, query.tenant is
  /// ignored, and the amount that the cap of the namespace still allows is computed from the
  /// current namespace usage.
  DepartureSearch(RepackCluster& cluster, Slot slot, const plan::FitQuery& query);

  /// The movable pods of the node, in the order of the elements of a DepartureSet.
  [[nodiscard]] const std::vector<MovablePod>& movable_pods() const { return movable_pods_; }
  [[nodiscard]] std::vector<MovablePod> pods_in(const DepartureSet& departing) const;

  /// Why the request does not fit even if all movable pods leave; kNone: it fits.
  [[nodiscard]] model::ReasonCode reason_without_all();
  /// Whether the node has enough CPU, memory and pod slots for the request if all movable pods
  /// leave.
  [[nodiscard]] bool host_fits_without_all() const;
  /// All movable pods whose departure alone is sufficient, each as a set of one pod. Of identical
  /// pods only the first is returned.
  [[nodiscard]] std::vector<DepartureSet> singles();
  /// All pairs of movable pods whose joint departure is sufficient, while the departure of either
  /// pod alone is not. Of equivalent pairs only one is returned. Empty if the node has more than
  /// kMaxPodsForPairs movable pods. Requires that singles() was called.
  [[nodiscard]] std::vector<DepartureSet> pairs();
  /// Minimal sets of pods whose departure is sufficient. Finds at most two sets for each GPU; both
  /// prefer pods of that GPU to pods of other GPUs. If the departure of `preferred` is sufficient,
  /// all sets are subsets of `preferred`.
  [[nodiscard]] std::vector<DepartureSet> larger_sets(const DepartureSet& preferred);

 private:
  using Gpus = std::vector<std::size_t>;  // GPU positions, ascending

  [[nodiscard]] bool could_suffice(std::int64_t pods);
  [[nodiscard]] bool fits(const DepartureSet& departed);
  [[nodiscard]] bool host_fits(const DepartureSet& departed) const;
  [[nodiscard]] model::ReasonCode reason_without(const DepartureSet& departed);
  [[nodiscard]] bool fits_without_all_on(const Gpus& gpus);
  [[nodiscard]] bool is_redundant_twin(std::size_t mover, const DepartureSet& departing) const;
  [[nodiscard]] DepartureSet all_movable() const {
    return DepartureSet(movable_pods_.size(), true);
  }
  [[nodiscard]] std::vector<Gpus> gpus_by_crowding() const;
  [[nodiscard]] DepartureSet after_reprieve(DepartureSet departed,
                                            const std::vector<Gpus>& gpu_groups, bool large_first);

  RepackCluster& cluster_;
  const model::NodeState& node_;
  const model::Nominations* nominations_;
  plan::FitQuery query_;
  std::vector<MovablePod> movable_pods_;
  std::vector<model::HoldingPtr> staying_pods_;  // pods that hold GPUs and must not be moved
  std::vector<Gpus> gpus_;                       // the GPUs of each movable pod
  /// For each movable pod, the position of the identical pod before it; nullopt: there is none.
  std::vector<std::optional<std::size_t>> earlier_twin_;
  DepartureSet sufficient_alone_;  // the pods whose departure alone is sufficient; set by singles()
  std::unordered_map<DepartureSet, bool> fits_without_;
};

}  // namespace snug::advice
