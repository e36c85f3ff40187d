// Why reserved MIG slices do not exist: what the thread that makes them tells the one that answers
// the container runtime, and the inventory. Thread-safe.
#pragma once

#include <vector>

#include "snug/agent/reserved_slices.hpp"
#include "snug/agent_service/book.hpp"

namespace snug::agent_service {

/// Sorted. Slices that are about to be made are left out.
struct SliceTroubles {
  std::vector<agent::SliceFailure> all;
  std::vector<agent::SliceFailure> failed;  // of `all`: those for the inventory, so that Snug plans
                                            // around them; the others only wait

  friend bool operator==(const SliceTroubles&, const SliceTroubles&) = default;
};

using SliceTroubleBook = Book<SliceTroubles>;

}  // namespace snug::agent_service
