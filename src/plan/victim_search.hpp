// The search for the fewest and least important pods whose end makes room. Exact while that takes
// few trials, else the best of several ways to let pods live one after another.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/after_eviction.hpp"

namespace snug {

struct SearchInput {
  const NodeState& node;
  AfterEviction& after;
  PodSet gone;                    // whoever goes in any case
  std::vector<std::size_t> pool;  // who else may go: without them all there is room
  PodSet preferred;               // of equals, rather these
};

/// Whether the first of two comes before the other where only one can live: it has the higher
/// priority, or is older.
[[nodiscard]] inline bool more_important(const Holding& a, const Holding& b) {
  return a.rank.before(b.rank);
}

/// `gone` and the best part of the pool: without them there is room. Fewest pods; then most
/// preferred ones; lowest sum of priorities; younger pods rather than older; lower uids.
[[nodiscard]] PodSet search_victims(SearchInput input);

/// Takes back those of `pods`, in this order, that need not go.
void reprieve(AfterEviction& after, const std::vector<std::size_t>& pods, PodSet& gone);

}  // namespace snug
