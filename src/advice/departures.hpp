// Finds sets of pods that must leave a node so that a request fits there. Caches the result for
// each set. Not thread-safe; serves one node and one claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "advice/cluster_states.hpp"
#include "snug/plan/placement_finder.hpp"

namespace snug::advice {

/// A subset of the node's movers: true at the position of each member.
using DepartureSet = std::vector<bool>;

class DepartureSearch {
 public:
  /// The arguments must outlive it. On a node with nominated pods, the tenant is derived from the
  /// claim's namespace and the present holdings; asking.tenant is not used.
  DepartureSearch(RepackCluster& cluster, Slot slot, const plan::FitQuery& query);

  /// The movers that a DepartureSet refers to, in its order.
  [[nodiscard]] const std::vector<MovablePod>& movable_pods() const { return movable_pods_; }
  [[nodiscard]] std::vector<MovablePod> pods_in(const DepartureSet& set) const;

  /// Why the request does not fit even if all movers leave; kNone: it fits.
  [[nodiscard]] model::ReasonCode reason_without_all();
  /// Whether the node has enough CPU, memory and pod slots for the request if all movers leave.
  [[nodiscard]] bool host_fits_without_all() const;
  /// All movers whose departure alone is sufficient; only the first of identical movers.
  [[nodiscard]] std::vector<DepartureSet> singles();
  /// All pairs whose joint departure is sufficient while neither mover alone is. Empty if the node
  /// has more than kMaxPodsForPairs movers.
  [[nodiscard]] std::vector<DepartureSet> pairs();
  /// Minimal sufficient sets, chosen from `preferred` alone if its departure is sufficient. At most
  /// two for each GPU: each prefers to empty that GPU and to keep the pods of crowded GPUs.
  [[nodiscard]] std::vector<DepartureSet> larger_sets(const DepartureSet& preferred);

 private:
  using Gpus = std::vector<std::size_t>;  // ascending

  [[nodiscard]] bool could_suffice(std::int64_t pods);
  [[nodiscard]] bool fits(const DepartureSet& departed);
  [[nodiscard]] bool host_fits(const DepartureSet& departed) const;
  [[nodiscard]] model::ReasonCode reason_without(const DepartureSet& departed);
  [[nodiscard]] bool fits_without_all_on(const Gpus& gpus);
  [[nodiscard]] bool is_redundant_twin(std::size_t mover, const DepartureSet& set) const;
  [[nodiscard]] DepartureSet all() const { return DepartureSet(movable_pods_.size(), true); }
  [[nodiscard]] std::vector<Gpus> gpus_by_crowding() const;
  [[nodiscard]] DepartureSet after_reprieve(DepartureSet departed, const std::vector<Gpus>& groups,
                                            bool large_first);

  RepackCluster& cluster_;
  const model::NodeState& node_;
  const model::Nominations* nominations_;
  plan::FitQuery query_;
  std::vector<MovablePod> movable_pods_;
  std::vector<model::HoldingPtr> staying_pods_;           // pods with GPUs that must not be moved
  std::vector<Gpus> gpus_;                                // by mover
  std::vector<std::optional<std::size_t>> earlier_twin_;  // by mover: the previous identical mover
  DepartureSet sufficient_alone_;                         // after singles()
  std::unordered_map<DepartureSet, bool> fits_without_;
};

}  // namespace snug::advice
