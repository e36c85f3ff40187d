// Orders placements by how little capacity they leave free, independently of any profile. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::plan {

/// Positions in `options`, the tightest placement first: by the number of empty GPUs that it opens,
/// then by the capacity that it leaves free on its GPUs, then by position.
[[nodiscard]] std::vector<std::size_t> by_tightness(const model::NodeState& node,
                                                    const model::PlacementList& options);

/// The capacity that the placement takes, in the units of DeviceAllocation::milli_sum.
[[nodiscard]] std::int64_t placement_size(model::PlacementView placement);

}  // namespace snug::plan
