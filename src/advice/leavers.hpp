// Finds sets of pods that must leave a node so that a request fits there. Caches the result for
// each set. Not thread-safe; serves one node and one claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "advice/cluster.hpp"
#include "snug/plan/choice.hpp"

namespace snug {

/// A subset of the node's movers: true at the position of each member.
using MoverSet = std::vector<bool>;

class Leavers {
 public:
  /// The arguments must outlive it. On a node with nominated pods, the tenant is derived from the
  /// claim's namespace and the present holdings; asking.tenant is not used.
  Leavers(RepackCluster& cluster, Slot slot, const Asking& asking);

  /// The movers that a MoverSet refers to, in its order.
  [[nodiscard]] const std::vector<Mover>& movers() const { return movers_; }
  [[nodiscard]] std::vector<Mover> of(const MoverSet& set) const;

  /// Why the request does not fit even if all movers leave; kNone: it fits.
  [[nodiscard]] ReasonCode reason_without_all();
  /// Whether the node has enough CPU, memory and pod slots for the request if all movers leave.
  [[nodiscard]] bool host_fits_without_all() const;
  /// All movers whose departure alone is sufficient; only the first of identical movers.
  [[nodiscard]] std::vector<MoverSet> singles();
  /// All pairs whose joint departure is sufficient while neither mover alone is. Empty if the node
  /// has more than kMostPodsForPairs movers.
  [[nodiscard]] std::vector<MoverSet> pairs();
  /// Minimal sufficient sets, chosen from `preferred` alone if its departure is sufficient. At most
  /// two for each GPU: each prefers to empty that GPU and to keep the pods of crowded GPUs.
  [[nodiscard]] std::vector<MoverSet> several(const MoverSet& preferred);

 private:
  using Gpus = std::vector<std::size_t>;  // ascending

  [[nodiscard]] bool may_do(std::int64_t pods);
  [[nodiscard]] bool fits(const MoverSet& gone);
  [[nodiscard]] bool host_fits(const MoverSet& gone) const;
  [[nodiscard]] ReasonCode reason_without(const MoverSet& gone);
  [[nodiscard]] bool fits_without_all_on(const Gpus& gpus);
  [[nodiscard]] bool told_by_twin(std::size_t mover, const MoverSet& set) const;
  [[nodiscard]] MoverSet all() const { return MoverSet(movers_.size(), true); }
  [[nodiscard]] std::vector<Gpus> groups() const;
  [[nodiscard]] MoverSet reprieved(MoverSet gone, const std::vector<Gpus>& groups,
                                   bool large_first);

  RepackCluster& cluster_;
  const NodeState& node_;
  const Nominations* nominations_;
  Asking asking_;
  std::vector<Mover> movers_;
  std::vector<HoldingPtr> others_;                // pods with GPUs that must not be moved
  std::vector<Gpus> gpus_;                        // by mover
  std::vector<std::optional<std::size_t>> twin_;  // by mover: the previous identical mover
  MoverSet enough_alone_;                         // after singles()
  std::unordered_map<MoverSet, bool> known_;
};

}  // namespace snug
