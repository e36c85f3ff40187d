#include "sim_codec/chart_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace snug::sim_codec {
namespace {

/// Curves differ visibly where their distance is above this part of their largest distance, and
/// above this part of the height of the whole chart.
constexpr double kOfLargestDistance = 0.25;
constexpr double kOfHeight = 0.005;
/// How much of the length of the part with differences is shown before it.
constexpr double kLeadIn = 0.2;
constexpr double kMargin = 0.06;  // empty space above and below the curves, as part of the height
/// A window is at least this part as high as the whole chart, so that it does not exaggerate.
constexpr double kLeastHeight = 0.08;
/// An axis begins at 0 if the chart would not gain this much in size otherwise.
constexpr double kWorthZoomingX = 1.15;
constexpr double kWorthZoomingY = 1.5;

using Curve = std::vector<sim::CurvePoint>;

/// The curves of the reports, without points that cannot be drawn.
std::vector<Curve> policy_curves(std::span<const sim::SimulationReport> reports) {
  std::vector<Curve> curves;
  for (const sim::SimulationReport& report : reports) {
    Curve points = drawable_points(report.curve);
    if (!points.empty()) curves.push_back(std::move(points));
  }
  return curves;
}

/// The same, and the references.
std::vector<Curve> all_curves(std::span<const sim::SimulationReport> reports) {
  std::vector<Curve> curves = policy_curves(reports);
  for (const sim::SimulationReport& report : reports) {
    Curve points = drawable_points(report.reference);
    if (!points.empty()) curves.push_back(std::move(points));
  }
  return curves;
}

/// The height of the curve at `x`, between its points by a straight line; nullopt: the curve does
/// not reach x.
std::optional<double> height_at(const Curve& curve, double x) {
  const auto after = std::ranges::lower_bound(curve, x, {}, &sim::CurvePoint::x);
  if (after == curve.end() || (after == curve.begin() && after->x > x)) return std::nullopt;
  if (after->x <= x) return after->y;
  const sim::CurvePoint& before = *std::prev(after);
  return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

/// The lowest and highest curve at `x`.
ChartRange heights_at(const std::vector<Curve>& curves, double x) {
  std::optional<ChartRange> heights;
  for (const Curve& curve : curves) {
    const std::optional<double> height = height_at(curve, x);
    if (!height) continue;
    if (!heights) heights = ChartRange{*height, *height};
    heights = ChartRange{std::min(heights->low, *height), std::max(heights->high, *height)};
  }
  return heights.value_or(ChartRange{});
}

/// The range from `low`, or from 0 if that does not make it `worth` times as long.
ChartRange from_zero_or(double low, double high, double worth) {
  low = std::max(low, 0.0);
  return (high - low) * worth > high ? ChartRange{0, high} : ChartRange{low, high};
}

/// Where the curves first differ visibly; nullopt: nowhere.
std::optional<double> first_difference(const std::vector<Curve>& curves, double height) {
  std::vector<double> xs;
  for (const Curve& curve : curves) {
    for (const sim::CurvePoint& point : curve) xs.push_back(point.x);
  }
  std::ranges::sort(xs);
  std::vector<double> distances;
  distances.reserve(xs.size());
  for (const double x : xs) distances.push_back(heights_at(curves, x).length());
  const double largest = distances.empty() ? 0 : std::ranges::max(distances);
  const double visible = std::max(kOfHeight * height, kOfLargestDistance * largest);
  const auto first =
      std::ranges::find_if(distances, [&](double distance) { return distance > visible; });
  if (first == distances.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(first - distances.begin());
  if (at == 0) return xs[0];
  // Between two points the distance grows linearly.
  const double part = (visible - distances[at - 1]) / (distances[at] - distances[at - 1]);
  return xs[at - 1] + part * (xs[at] - xs[at - 1]);
}

}  // namespace

std::vector<sim::CurvePoint> drawable_points(std::span<const sim::CurvePoint> curve) {
  Curve points;
  for (const sim::CurvePoint& point : curve) {
    const bool finite = std::isfinite(point.x) && std::isfinite(point.y);
    if (finite && point.x >= 0 && (points.empty() || point.x >= points.back().x))
      points.push_back(point);
  }
  return points;
}

ChartWindow whole_window(std::span<const sim::SimulationReport> reports) {
  ChartWindow window{{0, 1}, {0, 1}};
  for (const Curve& curve : all_curves(reports)) {
    window.x.high = std::max(window.x.high, curve.back().x);
    for (const sim::CurvePoint& point : curve) window.y.high = std::max(window.y.high, point.y);
  }
  return window;
}

ChartWindow window_of_difference(std::span<const sim::SimulationReport> reports) {
  const ChartWindow whole = whole_window(reports);
  const std::vector<Curve> curves = all_curves(reports);
  // The GPUs that are free now are no bound that the curves follow at first.
  const bool follows_reference =
      !reports.empty() && reports.front().axes != sim::CurveAxes::kFreeByPods;
  const auto begin =
      first_difference(follows_reference ? curves : policy_curves(reports), whole.y.high);
  if (!begin) return whole;
  ChartRange heights = heights_at(curves, *begin);  // no curve need have a point there
  for (const Curve& curve : curves) {
    for (const sim::CurvePoint& point : curve) {
      if (point.x < *begin) continue;
      heights = {std::min(heights.low, point.y), std::max(heights.high, point.y)};
    }
  }
  const double missing = kLeastHeight * whole.y.high - heights.length();
  heights.low -= std::max(missing, 0.0);
  const double margin = kMargin * heights.length();
  return {from_zero_or(*begin - kLeadIn * (whole.x.high - *begin), whole.x.high, kWorthZoomingX),
          from_zero_or(heights.low - margin, heights.high + margin, kWorthZoomingY)};
}

ChartTicks ticks_in(const ChartRange& range, int most) {
  ChartTicks ticks;
  const double coarsest = std::max(range.length(), 1e-9) / most;
  const double power = std::pow(10.0, std::floor(std::log10(coarsest)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    ticks.step = power * factor;
    if (ticks.step >= coarsest * (1 - 1e-9)) break;
  }
  const double first = std::ceil(range.low / ticks.step - 1e-9);
  const double last = std::floor(range.high / ticks.step + 1e-9);
  for (double i = first; i <= last; ++i) ticks.values.push_back(i * ticks.step);
  return ticks;
}

std::vector<double> spread_labels(std::span<const double> wanted, double gap,
                                  const ChartRange& limits) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  // Labels that are too near to each other form a block around the mean of the wanted positions.
  // `sum` is the sum of the positions that its labels want for the first label of all.
  struct Block {
    double sum = 0;
    std::size_t labels = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(labels); }
  };
  std::vector<Block> blocks;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    blocks.push_back({wanted[order[rank]] - gap * static_cast<double>(rank), 1});
    while (blocks.size() > 1 && blocks.back().mean() < blocks[blocks.size() - 2].mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().labels += last.labels;
    }
  }
  std::vector<double> positions(wanted.size());
  std::size_t rank = 0;
  const auto slack = gap * static_cast<double>(wanted.empty() ? 0 : wanted.size() - 1);
  for (const Block& block : blocks) {
    const double first = std::max(limits.low, std::min(block.mean(), limits.high - slack));
    for (std::size_t i = 0; i < block.labels; ++i, ++rank)
      positions[order[rank]] = first + gap * static_cast<double>(rank);
  }
  return positions;
}

}  // namespace snug::sim_codec
