#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "sim_codec/chart_layout.hpp"
#include "snug/base/text.hpp"
#include "snug/sim_codec/report_codec.hpp"

namespace snug::sim_codec {
namespace {

// These lengths are in units of the SVG, which are pixels unless a viewer scales the SVG.
constexpr double kWidth = 960;
constexpr double kHeight = 574;
constexpr double kLeft = 56;
constexpr double kTop = 122;
constexpr double kPlotWidth = 660;
constexpr double kPlotHeight = 392;
constexpr double kRight = kLeft + kPlotWidth;
constexpr double kBottom = kTop + kPlotHeight;
constexpr double kLabelGap = 21;
constexpr double kLabelX = kRight + 26;
// The small picture of the whole run.
constexpr double kOverviewWidth = 188;
constexpr double kOverviewHeight = 64;
constexpr double kOverviewLeft = kWidth - kOverviewWidth - 20;
constexpr double kOverviewTop = 20;
constexpr int kMostXTicks = 10;
constexpr int kMostYTicks = 8;
constexpr std::size_t kShownName = 24;  // how many characters of a policy's name are shown
constexpr double kSecondsPerHour = 3600;
constexpr double kSecondsPerDay = 86400;

/// The colours of a line on a light and on a dark background. The light ones are the palette of
/// Okabe and Ito, which people with colour blindness can distinguish, without its yellow.
struct LineColour {
  std::string_view light;
  std::string_view dark;
};
constexpr auto kColours = std::to_array<LineColour>({{"#0072b2", "#58a6ff"},
                                                     {"#d55e00", "#ff8f40"},
                                                     {"#009e73", "#3fd6a4"},
                                                     {"#b0568c", "#e79fc8"},
                                                     {"#24292f", "#e6edf3"},
                                                     {"#2f9fd8", "#9bd7ff"},
                                                     {"#b87700", "#f2c14e"},
                                                     {"#7a4fd0", "#b99bff"}});
/// The number of dash patterns and the number of colours have no common divisor, so the first 40
/// lines have distinct styles.
constexpr auto kDashes = std::to_array<std::string_view>({"", "9 4", "2 3", "12 3 2 3", "5 2"});

/// Returns the number with `decimals` decimals. Does not depend on the locale.
std::string fixed_number(double value, int decimals) {
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, decimals);
  return {text.data(), error == std::errc{} ? end : text.data()};
}

/// Returns the number with at most `decimals` decimals.
std::string svg_number(double value, int decimals = 2) {
  std::string shown = fixed_number(value, decimals);
  if (shown.find('.') == std::string::npos) return shown;
  while (shown.ends_with('0')) shown.pop_back();
  if (shown.ends_with('.')) shown.pop_back();
  return shown == "-0" ? "0" : shown;
}

/// Puts a comma after each three digits.
std::string grouped(std::string text) {
  for (std::size_t at = std::min(text.find('.'), text.size()); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
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
/// end. `style` is the class of the text.
std::string label(double x, double y, std::string_view anchor, std::string_view style,
                  std::string_view escaped_text) {
  return "<text" + attribute("class", style) + attribute("x", svg_number(x, 1)) +
         attribute("y", svg_number(y, 1)) + attribute("text-anchor", anchor) + '>' +
         std::string(escaped_text) + "</text>\n";
}

/// Returns an SVG line from (x1, y1) to (x2, y2).
std::string straight(double x1, double y1, double x2, double y2, std::string_view style) {
  return "<line" + attribute("class", style) + attribute("x1", svg_number(x1, 1)) +
         attribute("y1", svg_number(y1, 1)) + attribute("x2", svg_number(x2, 1)) +
         attribute("y2", svg_number(y2, 1)) + "/>\n";
}

std::string box(double x, double y, double width, double height, std::string_view style) {
  return "<rect" + attribute("class", style) + attribute("x", svg_number(x, 1)) +
         attribute("y", svg_number(y, 1)) + attribute("width", svg_number(width, 1)) +
         attribute("height", svg_number(height, 1)) + "/>\n";
}

/// The style sheet. The colours follow the viewer's choice of a light or dark appearance.
std::string style_sheet(std::size_t lines) {
  const auto colours = [lines](auto colour_of) {
    std::string rules;
    for (std::size_t i = 0; i < std::min(lines, kColours.size()); ++i) {
      for (const auto& [class_letter, property] : {std::pair{".c", "{stroke:"}, {".t", "{fill:"}}) {
        rules.append(class_letter).append(std::to_string(i)).append(property);
        rules.append(colour_of(kColours[i])).append("}");
      }
    }
    return rules;
  };
  return "<style>\n"
         "text{fill:#24292f}.soft{fill:#59636e;font-size:12px}.end{font-weight:600}"
         ".title{font-size:18px;font-weight:600}\n"
         ".paper{fill:#ffffff}.grid{stroke:#e4e8ec}.axis{stroke:#8c959f}"
         ".zoom{fill:#0969da;fill-opacity:.14;stroke:#0969da}\n"
         ".line{fill:none;stroke-width:2.25;stroke-linejoin:round}"
         ".ref{fill:none;stroke:#8c959f;stroke-width:1.5;stroke-dasharray:1.5 4;"
         "stroke-linecap:round}.lead{stroke-width:1;fill:none}.thin{stroke-width:1}\n" +
         colours([](const LineColour& colour) { return colour.light; }) +
         "\n@media (prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}"
         ".paper{fill:#0d1117}.grid{stroke:#262c36}.axis,.ref{stroke:#6e7681}"
         ".zoom{fill:#58a6ff;stroke:#58a6ff}\n" +
         colours([](const LineColour& colour) { return colour.dark; }) + "}\n</style>\n";
}

/// The words of a chart, which depend on what its axes show.
struct ChartWords {
  std::string_view title;
  std::string_view y;
  std::string_view reference;
  std::string_view unit;  // after a value of y
};

ChartWords words_for(sim::CurveAxes axes) {
  constexpr std::string_view kUse = "GPUs in use, % of all GPUs";
  switch (axes) {
    case sim::CurveAxes::kUseByDemand:
      return {"GPUs in use as demand arrives", kUse, "requested", " %"};
    case sim::CurveAxes::kUseByArrivals:
    case sim::CurveAxes::kUseByTime:
      return {"GPUs in use as pods arrive and leave", kUse, "requested", " %"};
    case sim::CurveAxes::kFreeByPods:
      return {"GPUs left free as the cluster's pods are placed", "GPUs free", "now", ""};
  }
  return {};
}

/// The unit of the x axis, and its name.
struct HorizontalUnit {
  double size = 1;
  std::string_view name;
};

HorizontalUnit horizontal_unit(sim::CurveAxes axes, const ChartRange& range) {
  constexpr double kEnough = 3;
  switch (axes) {
    case sim::CurveAxes::kUseByDemand:
      return {1, "GPUs that the arrived pods requested, % of all GPUs"};
    case sim::CurveAxes::kUseByArrivals:
      return {1, "time, in arrivals of pods"};
    case sim::CurveAxes::kFreeByPods:
      return {1, "pods that have arrived"};
    case sim::CurveAxes::kUseByTime:
      if (range.length() >= kEnough * kSecondsPerDay)
        return {kSecondsPerDay, "days since the first pod arrived"};
      if (range.length() >= kEnough * kSecondsPerHour)
        return {kSecondsPerHour, "hours since the first pod arrived"};
      return {1, "seconds since the first pod arrived"};
  }
  return {};
}

/// A part of the picture that shows a window of the curves.
struct Frame {
  double left;
  double top;
  double width;
  double height;
  ChartWindow window;

  [[nodiscard]] double x_of(double value) const {
    return left + (value - window.x.low) / window.x.length() * width;
  }
  [[nodiscard]] double y_of(double value) const {
    return top + height - (value - window.y.low) / window.y.length() * height;
  }
  [[nodiscard]] std::string polyline(std::span<const sim::CurvePoint> curve,
                                     const std::string& attributes) const {
    std::string points;
    for (const sim::CurvePoint& point : drawable_points(curve)) {
      points += (points.empty() ? "" : " ") + svg_number(x_of(point.x), 1) + ',' +
                svg_number(y_of(point.y), 1);
    }
    return "<polyline" + attributes + attribute("points", points) + "/>\n";
  }
};

class Chart {
 public:
  explicit Chart(std::span<const sim::SimulationReport> reports)
      : reports_(reports),
        ranking_(ranking_of(reports)),
        axes_(reports.empty() ? sim::CurveAxes::kUseByDemand : reports.front().axes),
        words_(words_for(axes_)),
        whole_(whole_window(reports)),
        plot_{kLeft, kTop, kPlotWidth, kPlotHeight, window_of_difference(reports)},
        is_zoomed_(plot_.window.x.low > 0 || plot_.window.y.low > 0) {}

  std::string write() {
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", svg_number(kWidth)) +
           attribute("height", svg_number(kHeight)) +
           attribute("viewBox", "0 0 " + svg_number(kWidth) + ' ' + svg_number(kHeight)) +
           " role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n";
    write_title();
    write_x_axis();
    write_y_axis();
    write_curves();
    write_end_labels();
    if (is_zoomed_) write_overview();
    return std::move(svg_) + "</svg>\n";
  }

 private:
  void write_title() {
    svg_ += "<title>" + std::string(words_.title) + "</title>\n" + style_sheet(reports_.size()) +
            "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + "<clipPath id=\"plot\">" +
            box(kLeft, kTop - 2, kPlotWidth, kPlotHeight + 4, "paper") + "</clipPath>\n" +
            label(kLeft, 36, "start", "title", words_.title);
    if (reports_.empty()) return;
    const sim::SimulationReport& first = reports_.front();
    const bool cluster = axes_ == sim::CurveAxes::kFreeByPods;
    std::string about = grouped(std::to_string(first.nodes)) + " nodes, " +
                        grouped(std::to_string(first.gpus)) + " GPUs, " +
                        grouped(std::to_string(first.arrivals)) +
                        (cluster ? " pods that ask for GPUs" : " arrivals");
    if (first.seed) about += ", seed " + std::to_string(*first.seed);
    svg_ += label(kLeft, 57, "start", "soft", about);
    if (is_zoomed_) {
      svg_ += label(kLeft, 75, "start", "soft",
                    reports_.size() > 1 ? "Enlarged: the part where the policies differ"
                                        : "Enlarged: the part where not everything fits");
    }
  }

  void write_x_axis() {
    const HorizontalUnit unit = horizontal_unit(axes_, plot_.window.x);
    const ChartRange range{plot_.window.x.low / unit.size, plot_.window.x.high / unit.size};
    const ChartTicks ticks = ticks_in(range, kMostXTicks);
    for (const double tick : ticks.values) {
      const double x = plot_.x_of(tick * unit.size);
      svg_ += straight(x, kBottom, x, kBottom + 5, "axis");
      svg_ += label(x, kBottom + 21, "middle", "soft", grouped(svg_number(tick)));
    }
    svg_ += straight(kLeft, kBottom, kRight, kBottom, "axis");
    svg_ += label(kLeft + kPlotWidth / 2, kBottom + 44, "middle", "soft", unit.name);
  }

  void write_y_axis() {
    for (const double tick : ticks_in(plot_.window.y, kMostYTicks).values) {
      svg_ += straight(kLeft, plot_.y_of(tick), kRight, plot_.y_of(tick), "grid");
      svg_ += label(kLeft - 10, plot_.y_of(tick) + 4, "end", "soft", grouped(svg_number(tick)));
    }
    svg_ += label(kLeft - 30, kTop - 14, "start", "soft", words_.y);
  }

  /// Returns the colour and dash pattern of the line with this rank.
  static std::string line_style(std::size_t rank, std::string_view more_classes) {
    const std::string_view dash = kDashes[rank % kDashes.size()];
    return attribute("class", "line c" + std::to_string(rank % kColours.size()) +
                                  std::string(more_classes)) +
           (dash.empty() ? "" : attribute("stroke-dasharray", dash));
  }

  void write_curves() {
    svg_ += "<g clip-path=\"url(#plot)\">\n";
    if (!reports_.empty())
      svg_ += plot_.polyline(reports_.front().reference, attribute("class", "ref"));
    // The best policy is drawn last, on top of the others.
    for (std::size_t rank = ranking_.size(); rank-- > 0;)
      svg_ += plot_.polyline(reports_[ranking_[rank]].curve, line_style(rank, ""));
    svg_ += "</g>\n";
  }

  /// A name and a value at the end of a line.
  struct EndLabel {
    std::string text;
    double y = 0;      // of the line's end
    std::string line;  // class of the line that leads to the label
    std::string fill;  // class of the text
  };

  /// As many decimals as distinguish the values, at most two.
  [[nodiscard]] int end_decimals() const {
    if (axes_ == sim::CurveAxes::kFreeByPods) return 0;
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (reports_[i].curve.empty() || reports_[k].curve.empty()) continue;
        const double a = reports_[i].curve.back().y;
        const double b = reports_[k].curve.back().y;
        if (a != b && fixed_number(a, 1) == fixed_number(b, 1)) return 2;
      }
    }
    return 1;
  }

  [[nodiscard]] std::vector<EndLabel> end_labels() const {
    std::vector<EndLabel> labels;
    const int decimals = end_decimals();
    const auto add = [&](const std::vector<sim::CurvePoint>& curve, const std::string& name,
                         EndLabel end_label) {
      const auto points = drawable_points(curve);
      if (points.empty()) return;
      const double value = points.back().y;
      end_label.text =
          name + ' ' + grouped(fixed_number(value, decimals)) + std::string(words_.unit);
      end_label.y = std::clamp(plot_.y_of(value), kTop, kBottom);
      labels.push_back(std::move(end_label));
    };
    for (std::size_t rank = 0; rank < ranking_.size(); ++rank) {
      const std::string colour = std::to_string(rank % kColours.size());
      const sim::SimulationReport& report = reports_[ranking_[rank]];
      add(report.curve, escaped(report.policy, kShownName),
          {.text = {}, .line = "lead c" + colour, .fill = "end t" + colour});
    }
    if (!reports_.empty()) {
      add(reports_.front().reference, std::string(words_.reference),
          {.text = {}, .line = "lead axis", .fill = "soft"});
    }
    return labels;
  }

  void write_end_labels() {
    const std::vector<EndLabel> labels = end_labels();
    std::vector<double> wanted;
    wanted.reserve(labels.size());
    for (const EndLabel& end_label : labels) wanted.push_back(end_label.y);
    const std::vector<double> ys = spread_labels(wanted, kLabelGap, {kTop, kBottom});
    for (std::size_t i = 0; i < labels.size(); ++i) {
      svg_ +=
          "<polyline" + attribute("class", labels[i].line) +
          attribute("points", svg_number(kRight + 2, 1) + ',' + svg_number(labels[i].y, 1) + ' ' +
                                  svg_number(kRight + 12, 1) + ',' + svg_number(ys[i], 1) + ' ' +
                                  svg_number(kLabelX - 5, 1) + ',' + svg_number(ys[i], 1)) +
          "/>\n";
      svg_ += label(kLabelX, ys[i] + 4.5, "start", labels[i].fill, labels[i].text);
    }
  }

  void write_overview() {
    const Frame overview{kOverviewLeft, kOverviewTop, kOverviewWidth, kOverviewHeight, whole_};
    for (std::size_t rank = ranking_.size(); rank-- > 0;)
      svg_ += overview.polyline(reports_[ranking_[rank]].curve, line_style(rank, " thin"));
    svg_ += straight(kOverviewLeft, kOverviewTop + kOverviewHeight, kOverviewLeft + kOverviewWidth,
                     kOverviewTop + kOverviewHeight, "axis");
    const double left = overview.x_of(plot_.window.x.low);
    const double top = overview.y_of(std::min(plot_.window.y.high, whole_.y.high));
    svg_ += box(left, top, overview.x_of(plot_.window.x.high) - left,
                overview.y_of(plot_.window.y.low) - top, "zoom");
    svg_ += label(kOverviewLeft - 8, kOverviewTop + kOverviewHeight - 1, "end", "soft",
                  "the whole run");
  }

  /// The positions of the reports, those with the highest end values first.
  static std::vector<std::size_t> ranking_of(std::span<const sim::SimulationReport> reports) {
    std::vector<std::size_t> ranking(reports.size());
    std::iota(ranking.begin(), ranking.end(), std::size_t{0});
    std::ranges::stable_sort(ranking, std::ranges::greater{}, [&](std::size_t i) {
      const auto points = drawable_points(reports[i].curve);
      return points.empty() ? -1.0 : points.back().y;
    });
    return ranking;
  }

  std::span<const sim::SimulationReport> reports_;
  std::vector<std::size_t> ranking_;
  sim::CurveAxes axes_;
  ChartWords words_;
  ChartWindow whole_;
  Frame plot_;
  bool is_zoomed_;
  std::string svg_;
};

}  // namespace

std::string report_chart(std::span<const sim::SimulationReport> reports) {
  return Chart(reports).write();
}

}  // namespace snug::sim_codec
