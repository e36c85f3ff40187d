#include "snug/agent/published_usage.hpp"

#include <algorithm>
#include <cstdlib>

namespace snug::agent {

int usage_step(int percent, std::optional<int> before) {
  constexpr int kStep = 10;
  constexpr int kKeptWithin = 8;  // more than half a step
  percent = std::clamp(percent, 0, 100);
  if (before && std::abs(percent - *before) < kKeptWithin) return *before;
  return (percent + kStep / 2) / kStep * kStep;
}

}  // namespace snug::agent
