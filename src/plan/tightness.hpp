// Which of several placements leaves the least unused beside it, whatever anybody's profile says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// Positions in `options`, the tightest first: that which opens the fewest empty GPUs; then that
/// which leaves the least room on the GPUs that it takes; then the first.
[[nodiscard]] std::vector<std::size_t> by_tightness(const NodeState& node,
                                                    const PlacementList& options);

/// What the placement takes, in the units of DeviceTake::room.
[[nodiscard]] std::int64_t size_of(PlacementView placement);

}  // namespace snug
