// Which sets of GPUs are scored if several are asked for: all sets if they are few, else the sets
// that are linked by NVLink, and the first GPUs.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Sets of `count` (at least 1) positions out of `fitting` (ascending, at least `count`), each
/// ascending, in ascending order, none twice. Of sets that differ in the positions of equal GPUs
/// alone, the first. At least one, at most a few hundred.
[[nodiscard]] std::vector<std::vector<std::size_t>> subsets(const model::NodeState& node,
                                                            const std::vector<std::size_t>& fitting,
                                                            std::size_t count);

}  // namespace snug::fit
