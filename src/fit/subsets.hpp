// Chooses the sets of GPUs that are scored for a request for several GPUs: all sets if they are
// few. If they are many, sets of GPUs that are linked by NVLink, and the set of the first GPUs; if
// no NVLinks are known, the first sets.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Returns different sets of `count` GPUs chosen from `fitting`. `fitting` has ascending positions,
/// at least `count` of them, and `count` is at least 1. The result is in ascending order, as is
/// each set. It has at least one set and at most 96. If no NVLinks are known, sets that differ only
/// by adjacent identical GPUs are not repeated.
[[nodiscard]] std::vector<std::vector<std::size_t>> subsets(const model::NodeState& node,
                                                            const std::vector<std::size_t>& fitting,
                                                            std::size_t count);

}  // namespace snug::fit
