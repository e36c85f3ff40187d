// Searches for the fewest and least important pods whose eviction makes the preemptor fit. For few
// pods the result is exact, by branch and bound. For more pods it is the best result of several
// orders of reprieve.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/eviction_check.hpp"

namespace snug::plan {

struct VictimSearchInput {
  const model::NodeState& node;
  EvictionCheck& after;
  PodSet evicted;                 // pods that are evicted in any case
  std::vector<std::size_t> pool;  // other possible victims; evicting all of them suffices
  PodSet preferred;               // pods that are preferred as victims among equal solutions
};

/// Whether pod `a` ranks before pod `b` (model::PodRank): the higher priority, then the older pod.
[[nodiscard]] inline bool more_important(const model::Holding& a, const model::Holding& b) {
  return a.rank.outranks(b.rank);
}

/// Returns `input.evicted` and the best subset of `input.pool`: the fewest pods, then the most
/// preferred ones, the lowest sum of priorities, the youngest pods, the lower uids.
[[nodiscard]] PodSet search_victims(VictimSearchInput input);

/// Removes from `gone`, in the order of `pods`, each pod that is unnecessary as a victim: the
/// preemptor also fits without its eviction.
void reprieve(EvictionCheck& after, const std::vector<std::size_t>& pods, PodSet& gone);

}  // namespace snug::plan
