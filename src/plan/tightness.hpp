// Orders placements by how little capacity they leave free. Uses no profile. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// Returns the positions of the placements in `options`, the tightest placement first. A placement
/// is tighter if it uses fewer empty GPUs; among equals, if it leaves less capacity free on its
/// GPUs; then, if its position is lower.
[[nodiscard]] std::vector<std::size_t> by_tightness(const model::NodeState& node,
                                                    const model::PlacementList& options);

/// The capacity that the placement takes: the sum of DeviceAllocation::milli_sum.
[[nodiscard]] std::int64_t placement_size(model::PlacementView placement);

}  // namespace snug::plan
