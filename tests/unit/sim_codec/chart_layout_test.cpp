#include "sim_codec/chart_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace snug::chart_layout_test {
namespace {

using sim_codec::ChartRange;
using Curve = std::vector<sim::CurvePoint>;

std::vector<sim::SimulationReport> reports_of(const std::vector<Curve>& curves,
                                              const Curve& reference = {}) {
  std::vector<sim::SimulationReport> reports;
  for (const Curve& curve : curves) {
    sim::SimulationReport& report = reports.emplace_back();
    report.curve = curve;
    report.reference = reference;
  }
  return reports;
}

TEST(ChartLayoutTest, TheWindowIsWhereCurvesDiffer) {
  struct Row {
    const char* what;
    std::vector<Curve> curves;
    Curve reference;
    ChartRange x;  // in which the low end must be, with tolerance
    ChartRange y;
  };
  const Curve demand{{0, 0}, {100, 100}, {130, 100}};
  const std::vector<Row> rows{
      {"nothing", {}, {}, {0, 0}, {0, 0}},
      {"one that meets all demand", {{{0, 0}, {50, 50}}}, demand, {0, 0}, {0, 0}},
      {"equal curves", {{{0, 0}, {130, 90}}, {{0, 0}, {130, 90}}}, {}, {0, 0}, {0, 0}},
      {"one below the demand", {{{0, 0}, {90, 90}, {130, 90}}}, demand, {80, 92}, {85, 90}},
      {"two that part late",
       {{{0, 0}, {96, 96}, {130, 96}}, {{0, 0}, {91, 91}, {130, 91}}},
       demand,
       {80, 93},
       {85, 91}},
      {"two that part at once",
       {{{0, 0}, {130, 96}}, {{0, 0}, {130, 20}}},
       demand,
       {0, 20},
       {0, 0}},
      {"a small difference at the end",
       {{{0, 0}, {120, 90}, {130, 91}}, {{0, 0}, {120, 90}, {130, 90}}},
       {},
       {110, 124},
       {82, 90}}};
  for (const Row& row : rows) {
    const auto window = sim_codec::window_of_difference(reports_of(row.curves, row.reference));
    EXPECT_GE(window.x.low, row.x.low) << row.what;
    EXPECT_LE(window.x.low, row.x.high) << row.what;
    EXPECT_GE(window.y.low, row.y.low) << row.what;
    EXPECT_LE(window.y.low, row.y.high) << row.what;
  }
}

TEST(ChartLayoutTest, TheWindowHasTheEndOfEveryCurve) {
  const std::vector<Curve> curves{
      {{0, 0}, {96, 96}, {130, 97}}, {{0, 0}, {91, 91}, {130, 80}}, {{0, 0}, {60, 60}, {130, 85}}};
  const auto window = sim_codec::window_of_difference(reports_of(curves));
  EXPECT_EQ(window.x.high, 130);
  for (const Curve& curve : curves) {
    EXPECT_LT(window.y.low, curve.back().y);
    EXPECT_GT(window.y.high, curve.back().y);
  }
}

TEST(ChartLayoutTest, FreeGpusAreNotComparedWithTheReference) {
  const Curve one{{0, 100}, {80, 20}, {100, 15}};
  const Curve other{{0, 100}, {80, 20}, {100, 5}};
  for (const auto& [curves, low] :
       {std::pair{std::vector<Curve>{one, other}, 50.0}, std::pair{std::vector<Curve>{one}, 0.0}}) {
    auto reports = reports_of(curves, {{0, 3}, {100, 3}});
    for (sim::SimulationReport& report : reports) report.axes = sim::CurveAxes::kFreeByPods;
    const auto window = sim_codec::window_of_difference(reports);
    EXPECT_GE(window.x.low, low);
    EXPECT_LE(window.y.low, 3);  // it is shown
  }
}

TEST(ChartLayoutTest, TicksAreRoundAndFew) {
  struct Row {
    ChartRange range;
    std::vector<double> ticks;
  };
  for (const Row& row :
       {Row{{0, 130}, {0, 20, 40, 60, 80, 100, 120}}, Row{{88, 100}, {88, 90, 92, 94, 96, 98, 100}},
        Row{{95.8, 96.6}, {95.8, 96, 96.2, 96.4, 96.6}}, Row{{0, 1}, {0, 0.2, 0.4, 0.6, 0.8, 1}}}) {
    const auto ticks = sim_codec::ticks_in(row.range, 8);
    ASSERT_LE(ticks.values.size(), 10U);
    ASSERT_GE(ticks.values.size(), 3U);
    for (const double tick : row.ticks) {
      const bool has = std::ranges::any_of(
          ticks.values, [&](double value) { return std::abs(value - tick) < 1e-6; });
      EXPECT_TRUE(has) << tick << " of " << testing::PrintToString(ticks.values);
    }
  }
}

TEST(ChartLayoutTest, LabelsKeepTheirOrderAndTheirDistance) {
  struct Row {
    std::vector<double> wanted;
    std::vector<double> expected;
  };
  for (const Row& row :
       {Row{{}, {}}, Row{{50}, {50}}, Row{{80, 20}, {80, 20}}, Row{{50, 50, 50}, {40, 50, 60}},
        Row{{0, 0, 0}, {0, 10, 20}}, Row{{100, 100}, {90, 100}}, Row{{99, 100, 20}, {90, 100, 20}},
        Row{{30, 34, 36, 70}, {23.333, 33.333, 43.333, 70}}}) {
    const auto positions = sim_codec::spread_labels(row.wanted, 10, {0, 100});
    ASSERT_EQ(positions.size(), row.expected.size());
    for (std::size_t i = 0; i < positions.size(); ++i)
      EXPECT_NEAR(positions[i], row.expected[i], 0.01) << testing::PrintToString(row.wanted);
  }
}

TEST(ChartLayoutTest, RandomLabelsNeverOverlap) {
  std::uint64_t state = 17;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 40) / static_cast<double>(1 << 24) * 100;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> wanted(static_cast<std::size_t>(round % 10 + 1));
    for (double& position : wanted) position = next();
    auto positions = sim_codec::spread_labels(wanted, 10, {0, 100});
    std::ranges::sort(positions);
    EXPECT_GE(positions.front(), 0);
    EXPECT_LE(positions.back(), 100 + 1e-9);
    for (std::size_t i = 1; i < positions.size(); ++i)
      ASSERT_GE(positions[i] - positions[i - 1], 10 - 1e-9) << "round " << round;
  }
}

}  // namespace
}  // namespace snug::chart_layout_test
