#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "snug/sim_codec/report_codec.hpp"

namespace snug::chart_svg_test {
namespace {

/// Why the text is no XML of elements, attributes in double quotes and text; empty: it is.
std::string broken(const std::string& svg) {
  static const std::regex kTag(R"(<(/?)(\w+)((?: [\w:-]+="[^"<>]*")*)(/?)>)");
  static const std::regex kText(R"((?:[^<>&]|&(?:amp|lt|gt|quot|apos);)*)");
  static const std::regex kBareAmpersand(R"(&(?!(?:amp|lt|gt|quot|apos);))");
  std::vector<std::string> open;
  std::string::const_iterator at = svg.begin();
  for (std::sregex_iterator tag(svg.begin(), svg.end(), kTag), end; tag != end; ++tag) {
    const std::string between(at, (*tag)[0].first);
    if (!std::regex_match(between, kText)) return "no text: " + between;
    if (open.empty() && between != "") return "text outside: " + between;
    if (std::regex_search(tag->str(3), kBareAmpersand)) return "an ampersand in " + tag->str(0);
    at = (*tag)[0].second;
    if (tag->length(1) == 0 && tag->length(4) == 0) open.push_back(tag->str(2));
    if (tag->length(1) == 0) continue;
    if (open.empty() || open.back() != tag->str(2)) return "closes nothing: " + tag->str(0);
    open.pop_back();
  }
  if (!open.empty()) return "not closed: " + open.back();
  return std::string(at, svg.end()) == "\n" ? "" : "text after the end";
}

std::vector<std::string> found(const std::string& svg, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator match(svg.begin(), svg.end(), regex), end; match != end; ++match) {
    all.push_back(match->str(1));
  }
  return all;
}

sim::SimulationReport report(std::string policy, std::vector<sim::CurvePoint> curve) {
  sim::SimulationReport made{.policy = std::move(policy)};
  made.nodes = 2;
  made.gpus = 8;
  made.arrivals = 30;
  made.curve = std::move(curve);
  return made;
}

/// The numbers in the attribute of all elements that the pattern matches.
std::vector<double> numbers(const std::string& svg, const std::string& pattern) {
  std::vector<double> values;
  for (const std::string& text : found(svg, pattern)) values.push_back(std::stod(text));
  return values;
}

constexpr const char* kEndLabelY = "<text class=\"end [^>]* y=\"([^\"]*)\"";

TEST(ChartTest, HasALineAndAnEndLabelForEachPolicy) {
  std::vector<sim::SimulationReport> reports{report("best-fit", {{0, 0}, {65, 50}, {130, 100}}),
                                             report("spread", {{0, 0}, {130, 80}})};
  reports[0].seed = 42;
  const std::string svg = sim_codec::report_chart(reports);
  EXPECT_EQ(broken(svg), "");
  EXPECT_EQ(found(svg, "<polyline class=\"line [^>]*points=\"([^\"]*)\"").size(), 2U);
  // The axes begin at 0, as the lines differ from the beginning.
  EXPECT_NE(svg.find("points=\"56,514 386,327 716,140\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">best-fit 100.0 %</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">spread 80.0 %</text>"), std::string::npos);
  EXPECT_NE(svg.find(">2 nodes, 8 GPUs, 30 arrivals, seed 42</text>"), std::string::npos);
  EXPECT_NE(svg.find("requested, % of all GPUs"), std::string::npos) << svg;
  for (const char* tick : {">0</text>", ">100</text>", ">120</text>"}) {
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
  }
}

TEST(ChartTest, FetchesNothingAndRunsNothing) {
  for (const std::string& svg :
       {sim_codec::report_chart({}),
        sim_codec::report_chart(std::vector{report("p", {{0, 0}, {130, 80}})})}) {
    EXPECT_EQ(broken(svg), "");
    EXPECT_EQ(found(svg, "(<script|<image|href|@import|url\\((?!#plot\\)))").size(), 0U);
    EXPECT_NE(svg.find("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>"),
              std::string::npos);
  }
}

TEST(ChartTest, HasColoursForLightAndForDarkPages) {
  const std::vector<sim::SimulationReport> reports(7, report("p", {{0, 0}, {1, 1}}));
  const std::string svg = sim_codec::report_chart(reports);
  const std::size_t dark = svg.find("@media (prefers-color-scheme:dark)");
  ASSERT_NE(dark, std::string::npos);
  for (const std::string& styled : found(svg, "class=\"(?:line |end |lead )?([ct]\\d)")) {
    for (const std::string& rules : {svg.substr(0, dark), svg.substr(dark)})
      EXPECT_NE(rules.find("." + styled + "{"), std::string::npos) << styled;
  }
}

TEST(ChartTest, NamesCannotBreakIt) {
  const std::vector<sim::CurvePoint> line{{0, 0}, {130, 80}};
  const auto named = report("<b a=\"1\">&'\x01\xFF h\xC3\xA9", line);
  const std::string svg = sim_codec::report_chart({&named, 1});
  EXPECT_EQ(broken(svg), "");
  EXPECT_NE(svg.find("&lt;b a=&quot;1&quot;&gt;&amp;&apos;?? h\xC3\xA9 80.0 %<"), std::string::npos)
      << svg;
  const auto longest = report(std::string(63, 'p'), line);
  EXPECT_NE(sim_codec::report_chart({&longest, 1}).find(">" + std::string(24, 'p') + "… 80.0 %<"),
            std::string::npos);
}

TEST(ChartTest, ManyPoliciesAreToldApart) {
  const std::vector<sim::SimulationReport> reports(16, report("p", {{0, 0}, {1, 1}}));
  const auto looks =
      found(sim_codec::report_chart(reports), "<polyline class=\"(line [^>]*) points=");
  EXPECT_EQ(looks.size(), 16U);
  EXPECT_EQ(std::set<std::string>(looks.begin(), looks.end()).size(), 16U);
}

TEST(ChartTest, LabelsDoNotOverlap) {
  struct Row {
    const char* what;
    std::vector<double> ends;
  };
  for (const Row& row :
       {Row{"equal", std::vector<double>(16, 50)}, Row{"at the top", {99, 100, 98}},
        Row{"at the bottom", {0, 0, 1}}, Row{"two groups", {10, 11, 90, 90.2}}}) {
    std::vector<sim::SimulationReport> reports;
    for (const double end : row.ends)
      reports.push_back(report("p", {{0, 0}, {100, 100}, {130, end}}));
    reports.front().reference = {{0, 0}, {100, 100}, {130, 100}};
    const std::string svg = sim_codec::report_chart(reports);
    std::vector<double> ys = numbers(svg, kEndLabelY);
    EXPECT_EQ(ys.size(), row.ends.size()) << row.what;
    ys.push_back(numbers(svg, "y=\"([^\"]*)\"[^>]*>requested [^<]* %").at(0));
    std::ranges::sort(ys);
    for (std::size_t i = 1; i < ys.size(); ++i)
      EXPECT_GE(ys[i] - ys[i - 1], 16) << row.what;  // the height of a line of text
    EXPECT_GT(ys.front(), 100) << row.what;
    EXPECT_LT(ys.back(), 540) << row.what;
  }
}

TEST(ChartTest, EndValuesHaveTheDecimalsThatDistinguishThem) {
  const auto svg = [](double a, double b) {
    return sim_codec::report_chart(
        std::vector{report("a", {{0, 0}, {130, a}}), report("b", {{0, 0}, {130, b}})});
  };
  EXPECT_NE(svg(96.37, 91.6).find(">a 96.4 %<"), std::string::npos);
  EXPECT_NE(svg(96.37, 96.38).find(">a 96.37 %<"), std::string::npos);
  EXPECT_NE(svg(96.37, 96.37).find(">a 96.4 %<"), std::string::npos);
}

TEST(ChartTest, TheWholeRunIsShownBesideAnEnlargedPart) {
  const auto whole = report("p", {{0, 0}, {130, 80}});
  EXPECT_EQ(sim_codec::report_chart({&whole, 1}).find("the whole run"), std::string::npos);
  const std::vector<sim::SimulationReport> differ{report("a", {{0, 0}, {90, 90}, {130, 96}}),
                                                  report("b", {{0, 0}, {90, 90}, {130, 91}})};
  const std::string svg = sim_codec::report_chart(differ);
  EXPECT_EQ(broken(svg), "");
  EXPECT_NE(svg.find(">the whole run</text>"), std::string::npos);
  EXPECT_NE(svg.find(">Enlarged: the part where the policies differ</text>"), std::string::npos);
  EXPECT_EQ(found(svg, "<rect class=\"(zoom)\"").size(), 1U);
  EXPECT_EQ(svg.find(">50</text>"), std::string::npos);  // no axis reaches so low
}

TEST(ChartTest, WhatIsNoNumberIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double huge = std::numeric_limits<double>::infinity();
  const auto odd = report("p", {{0, 0}, {nan, 1}, {1, nan}, {huge, 1}, {-1, 1}, {100, 100}});
  const std::string svg = sim_codec::report_chart({&odd, 1});
  EXPECT_EQ(broken(svg), "");
  EXPECT_EQ(found(svg, "(nan|inf)").size(), 0U);
  EXPECT_NE(svg.find("points=\"56,514 716,122\""), std::string::npos) << svg;
}

TEST(ChartTest, TheHorizontalAxisHasTheUnitOfTheRun) {
  struct Row {
    sim::CurveAxes axes;
    double last;
    const char* name;
    const char* tick;
  };
  constexpr double kDay = 86400;
  for (const Row& row :
       {Row{sim::CurveAxes::kUseByDemand, 130, "requested, % of all GPUs", ">120<"},
        Row{sim::CurveAxes::kUseByArrivals, 50'000, "time, in arrivals of pods", ">50,000<"},
        Row{sim::CurveAxes::kUseByTime, 10 * kDay, "days since the first pod arrived", ">10<"},
        Row{sim::CurveAxes::kUseByTime, kDay, "hours since the first pod arrived", ">20<"},
        Row{sim::CurveAxes::kUseByTime, 600, "seconds since the first pod arrived", ">600<"},
        Row{sim::CurveAxes::kFreeByPods, 300, "pods that have arrived", ">300<"}}) {
    auto run = report("p", {{0, 0}, {row.last, 90}});
    run.axes = row.axes;
    const std::string svg = sim_codec::report_chart({&run, 1});
    EXPECT_NE(svg.find(row.name), std::string::npos) << row.name;
    EXPECT_NE(svg.find(row.tick), std::string::npos) << row.name << svg;
  }
}

TEST(ChartTest, ACountIsNoPercentage) {
  auto run = report("p", {{0, 3}, {300, 90}});
  run.axes = sim::CurveAxes::kFreeByPods;
  run.reference = {{0, 12}, {300, 12}};
  const std::string svg = sim_codec::report_chart({&run, 1});
  EXPECT_NE(svg.find(">p 90<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">now 12<"), std::string::npos) << svg;
}

}  // namespace
}  // namespace snug::chart_svg_test
