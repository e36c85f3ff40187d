#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "snug/base/text.hpp"
#include "snug/sim_codec/report_codec.hpp"

namespace snug::sim_codec {
namespace {

// These lengths are in units of the SVG, which are pixels unless a viewer scales the SVG.
constexpr double kLeft = 70;
constexpr double kTop = 70;
constexpr double kPlotWidth = 720;
constexpr double kPlotHeight = 480;
constexpr double kLegendWidth = 250;
constexpr double kLegendRow = 24;
constexpr double kWidth = kLeft + kPlotWidth + kLegendWidth;
constexpr double kHeight = kTop + kPlotHeight + 60;
constexpr double kMaxTicks = 14;
constexpr std::size_t kShownName = 24;  // how many characters of a policy's name are shown

/// The palette of Okabe and Ito, which people with colour blindness can distinguish, without its
/// yellow.
constexpr auto kColours = std::to_array<std::string_view>(
    {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#56b4e9", "#e69f00"});
/// The number of dash patterns and the number of colours have no common divisor, so the first 35
/// lines have distinct styles.
constexpr auto kDashes = std::to_array<std::string_view>({"", "9 4", "2 3", "12 3 2 3", "5 2"});

/// Returns the number with at most two decimals. Does not depend on the locale.
std::string svg_number(double value) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
  std::string shown(text.data(), error == std::errc{} ? end : text.data());
  if (shown.find('.') == std::string::npos) return shown;
  while (shown.ends_with('0')) shown.pop_back();
  if (shown.ends_with('.')) shown.pop_back();
  return shown;
}

std::string escaped_character(std::string_view character) {
  switch (character.front()) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&apos;";
    default:
      return base::find_invalid_text(character) == std::string_view::npos ? std::string(character)
                                                                          : "?";
  }
}

/// Escapes the first `most` characters of the text for XML, and appends `…` if the text is longer.
std::string escaped(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t shown = 0;
  while (!text.empty() && shown++ < most) {
    const std::size_t length = std::max<std::size_t>(base::character_length(text), 1);
    out += escaped_character(text.substr(0, length));
    text.remove_prefix(length);
  }
  return text.empty() ? out : out + "…";
}

std::string attribute(std::string_view name, std::string_view value) {
  return ' ' + std::string(name) + "=\"" + std::string(value) + '"';
}

/// Returns an SVG text at (x, y). `anchor` says which part of the text is at x: start, middle or
/// end.
std::string label(double x, double y, std::string_view anchor, std::string_view escaped_text) {
  return "<text" + attribute("x", svg_number(x)) + attribute("y", svg_number(y)) +
         attribute("text-anchor", anchor) + '>' + std::string(escaped_text) + "</text>\n";
}

/// Returns an SVG line from (x1, y1) to (x2, y2).
std::string straight(double x1, double y1, double x2, double y2, std::string_view colour) {
  return "<line" + attribute("x1", svg_number(x1)) + attribute("y1", svg_number(y1)) +
         attribute("x2", svg_number(x2)) + attribute("y2", svg_number(y2)) +
         attribute("stroke", colour) + "/>\n";
}

/// An axis from 0 to `last` with a tick every `step`, which is 1, 2 or 5 times a power of 10.
struct Axis {
  double last = 100;
  double step = 10;

  static Axis up_to(double largest) {
    Axis axis{.last = std::max(largest, 1.0)};
    double power = std::pow(10.0, std::floor(std::log10(axis.last / kMaxTicks)));
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
      axis.step = power * factor;
      if (axis.last / axis.step <= kMaxTicks) break;
    }
    axis.last = std::ceil(axis.last / axis.step - 1e-9) * axis.step;
    return axis;
  }
};

bool is_drawable(const sim::CurvePoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x >= 0;
}

class Chart {
 public:
  explicit Chart(std::span<const sim::SimulationReport> reports) : reports_(reports) {
    double largest_x = 0;
    double largest_y = 100;
    for (const sim::SimulationReport& report : reports) {
      for (const sim::CurvePoint& point : report.curve) {
        if (!is_drawable(point)) continue;
        largest_x = std::max(largest_x, point.x);
        largest_y = std::max(largest_y, point.y);
      }
    }
    x_axis_ = Axis::up_to(largest_x > 0 ? largest_x : 100);
    y_axis_ = Axis::up_to(largest_y);
  }

  std::string write() {
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", svg_number(kWidth)) +
           attribute("height", svg_number(kHeight)) +
           attribute("viewBox", "0 0 " + svg_number(kWidth) + ' ' + svg_number(kHeight)) +
           " role=\"img\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n";
    write_title();
    write_x_axis();
    write_y_axis();
    for (std::size_t i = 0; i < reports_.size(); ++i) write_curve(i);
    return std::move(svg_) + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(double value) const {
    return kLeft + value / x_axis_.last * kPlotWidth;
  }
  [[nodiscard]] double y_of(double value) const {
    return kTop + kPlotHeight - value / y_axis_.last * kPlotHeight;
  }
  void write_title() {
    const std::string title = "GPUs in use as demand arrives";
    svg_ += "<title>" + title + "</title>\n";
    // Without this white background, a viewer might show the chart on a dark background.
    svg_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    svg_ +=
        "<g font-size=\"18\" font-weight=\"bold\">" + label(kLeft, 30, "start", title) + "</g>\n";
    if (reports_.empty()) return;
    const sim::SimulationReport& first = reports_.front();
    std::string about = std::to_string(first.nodes) + " nodes, " + std::to_string(first.gpus) +
                        " GPUs, " + std::to_string(first.arrivals) + " arrivals";
    if (first.seed) about += ", seed " + std::to_string(*first.seed);
    svg_ += label(kLeft, 52, "start", about);
  }

  void write_x_axis() {
    const double bottom = kTop + kPlotHeight;
    for (double tick = 0; tick <= x_axis_.last + x_axis_.step / 2; tick += x_axis_.step) {
      svg_ += straight(x_of(tick), kTop, x_of(tick), bottom, "#e4e4e4");
      svg_ += label(x_of(tick), bottom + 18, "middle", svg_number(tick));
    }
    svg_ += straight(kLeft, bottom, kLeft + kPlotWidth, bottom, "#222222");
    svg_ += label(kLeft + kPlotWidth / 2, bottom + 44, "middle",
                  "GPUs that the arrived pods requested (% of the cluster's GPUs)");
  }

  void write_y_axis() {
    for (double tick = 0; tick <= y_axis_.last + y_axis_.step / 2; tick += y_axis_.step) {
      svg_ += straight(kLeft, y_of(tick), kLeft + kPlotWidth, y_of(tick), "#e4e4e4");
      svg_ += label(kLeft - 8, y_of(tick) + 4, "end", svg_number(tick));
    }
    svg_ += straight(kLeft, kTop, kLeft, kTop + kPlotHeight, "#222222");
    const double middle = kTop + kPlotHeight / 2;
    svg_ += "<g transform=\"rotate(-90 20 " + svg_number(middle) + ")\">" +
            label(20, middle, "middle", "GPUs in use (% of the cluster's GPUs)") + "</g>\n";
  }

  /// Returns the colour and dash pattern of the report's line, in the plot and in the legend.
  static std::string line_style(std::size_t report) {
    const std::string_view dash = kDashes[report % kDashes.size()];
    return attribute("stroke", kColours[report % kColours.size()]) +
           (dash.empty() ? "" : attribute("stroke-dasharray", dash)) +
           " fill=\"none\" stroke-width=\"2\"";
  }

  void write_curve(std::size_t i) {
    const sim::SimulationReport& report = reports_[i];
    std::string points;
    for (const sim::CurvePoint& point : report.curve) {
      if (!is_drawable(point)) continue;
      points +=
          (points.empty() ? "" : " ") + svg_number(x_of(point.x)) + ',' + svg_number(y_of(point.y));
    }
    svg_ += "<polyline" + line_style(i) + attribute("points", points) + "/>\n";
    const double x = kLeft + kPlotWidth + 20;
    const double y = kTop + 10 + static_cast<double>(i) * kLegendRow;
    svg_ += "<polyline" + line_style(i) +
            attribute("points", svg_number(x) + ',' + svg_number(y) + ' ' + svg_number(x + 40) +
                                    ',' + svg_number(y)) +
            "/>\n";
    svg_ += label(x + 48, y + 4, "start", escaped(report.policy, kShownName));
  }

  std::span<const sim::SimulationReport> reports_;
  Axis x_axis_;
  Axis y_axis_;
  std::string svg_;
};

}  // namespace

std::string report_chart(std::span<const sim::SimulationReport> reports) {
  return Chart(reports).write();
}

}  // namespace snug::sim_codec
