// Converts costs to points, the unit of score terms. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "snug/model/demand.hpp"
#include "snug/score/terms.hpp"

namespace snug::score {

/// The points that a placement loses for each milli-GPU that future pods can no longer use. The
/// loss of ten GPUs costs kTermBound points.
inline constexpr std::int64_t kPointsPerMilli = 10;

/// Returns the points of a cost, which is in milli-GPU multiplied by kFixedPointOne. A positive
/// cost has negative points.
[[nodiscard]] inline std::int32_t points(std::int64_t cost) {
  constexpr std::int64_t kMost = kTermBound / kPointsPerMilli * model::kFixedPointOne;
  return static_cast<std::int32_t>(-kPointsPerMilli * std::clamp(cost, -kMost, kMost) /
                                   model::kFixedPointOne);
}

/// Returns free - requested, or the smallest number if the difference overflows: requests from
/// outside may have any 64-bit value.
[[nodiscard]] inline std::int64_t saturating_subtract(std::int64_t free, std::int64_t requested) {
  std::int64_t remaining = 0;
  return __builtin_sub_overflow(free, requested, &remaining)
             ? std::numeric_limits<std::int64_t>::min()
             : remaining;
}

}  // namespace snug::score
