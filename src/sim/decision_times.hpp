// How long decisions took. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace snug::sim {

class DecisionTimes {
 public:
  void reserve(std::size_t decisions) { times_.reserve(decisions); }
  void add(std::chrono::nanoseconds time) { times_.push_back(time); }
  /// Returns the median and the 99th percentile in microseconds; zeros if there are no times.
  [[nodiscard]] std::pair<double, double> quantiles();

 private:
  std::vector<std::chrono::nanoseconds> times_;
};

}  // namespace snug::sim
