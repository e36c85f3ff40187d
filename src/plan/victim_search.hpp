// Searches for the fewest and least important pods whose eviction makes the preemptor fit. Exact
// for few pods, by branch and bound; for more, the best result of several orders of reprieve.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/after_eviction.hpp"

namespace snug::plan {

struct VictimSearchInput {
  const model::NodeState& node;
  AfterEviction& after;
  PodSet evicted;                 // pods that are evicted in any case
  std::vector<std::size_t> pool;  // other possible victims; evicting all of them suffices
  PodSet preferred;               // preferred as victims among equals
};

/// A higher priority comes first, then the older pod.
[[nodiscard]] inline bool more_important(const model::Holding& a, const model::Holding& b) {
  return a.rank.outranks(b.rank);
}

/// `gone` and the best subset of the pool: the fewest pods, then the most preferred ones, the
/// lowest sum of priorities, the youngest pods, the lower uids.
[[nodiscard]] PodSet search_victims(VictimSearchInput input);

/// Removes from `gone`, in the order of `pods`, each pod whose eviction is not necessary.
void reprieve(AfterEviction& after, const std::vector<std::size_t>& pods, PodSet& gone);

}  // namespace snug::plan
