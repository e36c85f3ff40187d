// Decides what a chart shows: which part of the curves, which ticks, and where labels stand. Pure.
#pragma once

#include <span>
#include <vector>

#include "snug/sim/report.hpp"

namespace snug::sim_codec {

struct ChartRange {
  double low = 0;
  double high = 0;
  [[nodiscard]] double length() const { return high - low; }
  friend bool operator==(const ChartRange&, const ChartRange&) = default;
};

/// The part of the plane that a chart shows.
struct ChartWindow {
  ChartRange x;
  ChartRange y;
  friend bool operator==(const ChartWindow&, const ChartWindow&) = default;
};

/// The ticks of an axis: the multiples of `step`, which is 1, 2 or 5 times a power of 10.
struct ChartTicks {
  double step = 1;
  std::vector<double> values;
};

/// Returns the points that a chart can show, in their order.
[[nodiscard]] std::vector<sim::CurvePoint> drawable_points(std::span<const sim::CurvePoint> curve);

/// Returns the window with all curves. Both axes begin at 0.
[[nodiscard]] ChartWindow whole_window(std::span<const sim::SimulationReport> reports);
/// Returns the window in which the curves differ visibly from each other or from the reference
/// (for free GPUs, only from each other): from a little before they first do to the end. An axis
/// begins at 0 if that makes the chart only a little smaller.
[[nodiscard]] ChartWindow window_of_difference(std::span<const sim::SimulationReport> reports);

/// Returns at most about `most` ticks in the range.
[[nodiscard]] ChartTicks ticks_in(const ChartRange& range, int most);

/// Returns positions near the wanted ones, in the same order of elements, such that two positions
/// differ by at least `gap`, and all are within the limits if there is enough room.
[[nodiscard]] std::vector<double> spread_labels(std::span<const double> wanted, double gap,
                                                const ChartRange& limits);

}  // namespace snug::sim_codec
