// Searches the fewest and least important pods whose eviction makes the preemptor fit. Exact for
// few pods, by branch and bound; else the best result of several orders of reprieve.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/after_eviction.hpp"

namespace snug {

struct SearchInput {
  const NodeState& node;
  AfterEviction& after;
  PodSet gone;                    // pods that go in any case
  std::vector<std::size_t> pool;  // the others that may go; without all of them the preemptor fits
  PodSet preferred;               // preferred as victims among equals
};

/// By higher priority, then by age.
[[nodiscard]] inline bool more_important(const Holding& a, const Holding& b) {
  return a.rank.before(b.rank);
}

/// `gone` and the best part of the pool: the fewest pods, then the most preferred ones, the lowest
/// sum of priorities, the youngest pods, the lower uids.
[[nodiscard]] PodSet search_victims(SearchInput input);

/// Removes from `gone` those of `pods`, in this order, without whose eviction the preemptor fits.
void reprieve(AfterEviction& after, const std::vector<std::size_t>& pods, PodSet& gone);

}  // namespace snug
