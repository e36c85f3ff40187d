// Costs as points, the unit of score terms. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "snug/model/demand.hpp"
#include "snug/score/terms.hpp"

namespace snug::score {

/// A milli-GPU that the pods to come cannot use any more costs this many points, so that
/// kTermBound is the cost of ten GPUs.
inline constexpr std::int64_t kPointsPerMilli = 10;

/// `cost`: in parts of kOne of a milli-GPU. What costs more scores less.
[[nodiscard]] inline std::int32_t points(std::int64_t cost) {
  constexpr std::int64_t kMost = kTermBound / kPointsPerMilli * model::kFixedPointOne;
  return static_cast<std::int32_t>(-kPointsPerMilli * std::clamp(cost, -kMost, kMost) /
                                   model::kFixedPointOne);
}

/// Requests from outside may be as large as 64 bits.
[[nodiscard]] inline std::int64_t saturating_subtract(std::int64_t free, std::int64_t requested) {
  std::int64_t rest = 0;
  return __builtin_sub_overflow(free, requested, &rest) ? std::numeric_limits<std::int64_t>::min()
                                                        : rest;
}

}  // namespace snug::score
