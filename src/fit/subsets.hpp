// Which sets of GPUs are worth a look where several are asked for: all of them where they are few,
// else those that hang together by NVLink, and those that come first.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

/// Sets of `count` (at least 1) positions out of `fitting` (ascending, at least `count`), each
/// ascending, in ascending order, none twice. Of sets that nothing but positions tells apart only
/// the first. At least one; never more than a few hundred.
[[nodiscard]] std::vector<std::vector<std::size_t>> subsets(const NodeState& node,
                                                            const std::vector<std::size_t>& fitting,
                                                            std::size_t count);

}  // namespace snug
