// Which of a node's pods would have to leave it so that a request fits there. Remembers what it
// found out. Not thread-safe; for one node and one claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/choice.hpp"
#include "plan/repack_cluster.hpp"

namespace snug {

/// Which of the node's movers, by position.
using MoverSet = std::vector<bool>;

class Leavers {
 public:
  /// All that is named outlives it. Where the node keeps room for nominated pods, the tenant is the
  /// claim's by what is held now.
  Leavers(RepackCluster& cluster, Slot slot, const Asking& asking);

  /// The sets say which of these.
  [[nodiscard]] const std::vector<Mover>& movers() const { return movers_; }
  [[nodiscard]] std::vector<Mover> of(const MoverSet& set) const;

  /// Why the request has no place even without all of them; kNone: it has.
  [[nodiscard]] ReasonCode reason_without_all();
  /// Whether its cpu, memory and place are there then.
  [[nodiscard]] bool host_fits_without_all() const;
  /// Those without which alone it fits: all of them, but of pods that are alike one.
  [[nodiscard]] std::vector<MoverSet> singles();
  /// Pairs without which it fits, neither of them being enough; all, on nodes with few pods.
  [[nodiscard]] std::vector<MoverSet> pairs();
  /// Sets of which nobody can stay, of preferred pods alone where these are enough: two for each
  /// GPU, that rather have the pods of other GPUs stay, and of these the crowded ones.
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
  std::vector<HoldingPtr> others_;                // with GPUs, that stay
  std::vector<Gpus> gpus_;                        // of each mover
  std::vector<std::optional<std::size_t>> twin_;  // of each: the one before it that is alike
  MoverSet enough_alone_;                         // after singles()
  std::unordered_map<MoverSet, bool> known_;
};

}  // namespace snug
