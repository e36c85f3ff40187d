#include "sim/decision_times.hpp"

#include <algorithm>

namespace snug::sim {

std::pair<double, double> DecisionTimes::quantiles() {
  std::ranges::sort(times_);
  const auto quantile = [this](double part) {
    if (times_.empty()) return 0.0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(times_.size() - 1));
    return std::chrono::duration<double, std::micro>(times_[at]).count();
  };
  return {quantile(0.5), quantile(0.99)};
}

}  // namespace snug::sim
