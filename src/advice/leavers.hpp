// Which of a node's pods would have to leave it so that a request fits there. Caches its trials.
// Not thread-safe; for one node and one claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "advice/cluster.hpp"
#include "snug/plan/choice.hpp"

namespace snug {

/// Which of the node's movers, by position.
using MoverSet = std::vector<bool>;

class Leavers {
 public:
  /// All arguments outlive it. Where the node keeps room for nominated pods, the tenant is the
  /// claim's namespace as of now.
  Leavers(RepackCluster& cluster, Slot slot, const Asking& asking);

  /// What a MoverSet refers to.
  [[nodiscard]] const std::vector<Mover>& movers() const { return movers_; }
  [[nodiscard]] std::vector<Mover> of(const MoverSet& set) const;

  /// Why the request has no place even if all movers leave; kNone: it has one.
  [[nodiscard]] ReasonCode reason_without_all();
  /// Whether the node has its cpu, memory and pod slot then.
  [[nodiscard]] bool host_fits_without_all() const;
  /// All movers that are enough to leave alone; of identical ones the first.
  [[nodiscard]] std::vector<MoverSet> singles();
  /// Pairs that are enough to leave together, and not alone: all of them, unless the node has many
  /// pods (kMostPodsForPairs).
  [[nodiscard]] std::vector<MoverSet> pairs();
  /// Minimal sets that are enough to leave, of preferred pods alone if these are enough. Two for
  /// each GPU, which rather empty that GPU than others, and rather keep crowded GPUs as they are.
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
  std::vector<HoldingPtr> others_;                // pods with GPUs that may not be moved
  std::vector<Gpus> gpus_;                        // of each mover
  std::vector<std::optional<std::size_t>> twin_;  // of each: an identical one before it
  MoverSet enough_alone_;                         // after singles()
  std::unordered_map<MoverSet, bool> known_;
};

}  // namespace snug
