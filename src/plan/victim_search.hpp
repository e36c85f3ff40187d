// Searches for the fewest and least important pods whose eviction makes the preemptor fit. Applies
// reprieve() in several orders of the pods and keeps the best result. If there are few pods, then
// also searches for the exact optimum, by branch and bound.
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
  PodSet preferred;               // among equally many victims, those in this set are preferred
};

/// Whether pod `a` ranks before pod `b` (model::PodRank): the higher priority, then the older pod.
[[nodiscard]] inline bool more_important(const model::Holding& a, const model::Holding& b) {
  return a.rank.outranks(b.rank);
}

/// Returns `input.evicted` and the best subset of `input.pool`. Subsets are compared by these
/// criteria, in this order: fewer pods; fewer pods outside of `input.preferred`; the lower sum of
/// priorities; younger pods; lower uids.
[[nodiscard]] PodSet search_victims(VictimSearchInput input);

/// Removes from `victims`, in the order of `pods`, each pod that is unnecessary as a victim: the
/// preemptor also fits without its eviction.
void reprieve(EvictionCheck& eviction_check, const std::vector<std::size_t>& pods, PodSet& victims);

}  // namespace snug::plan
