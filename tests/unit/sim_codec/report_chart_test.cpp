#include <gtest/gtest.h>

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

TEST(ChartTest, HasALineAndANameForEachPolicy) {
  std::vector<sim::SimulationReport> reports{report("best-fit", {{0, 0}, {65, 50}, {130, 100}}),
                                             report("spread", {{0, 0}, {130, 80}})};
  reports[0].seed = 42;
  const std::string svg = sim_codec::report_chart(reports);
  EXPECT_EQ(broken(svg), "");
  EXPECT_EQ(found(svg, "<polyline [^>]*points=\"([^\"]*)\"").size(), 4U);  // and in the legend
  EXPECT_NE(svg.find("points=\"70,550 430,310 790,70\""), std::string::npos) << svg;
  EXPECT_NE(svg.find(">best-fit</text>"), std::string::npos);
  EXPECT_NE(svg.find(">spread</text>"), std::string::npos);
  EXPECT_NE(svg.find(">2 nodes, 8 GPUs, 30 arrivals, seed 42</text>"), std::string::npos);
  EXPECT_NE(svg.find("requested (% of the cluster's GPUs)"), std::string::npos) << svg;
  for (const char* tick : {">0</text>", ">100</text>", ">130</text>"}) {
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
  }
}

TEST(ChartTest, FetchesNothingAndRunsNothing) {
  const std::string svg = sim_codec::report_chart({});
  EXPECT_EQ(broken(svg), "");
  EXPECT_EQ(found(svg, "(<script|<style|<image|href|url\\(|@import)").size(), 0U);
  EXPECT_NE(svg.find("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"), std::string::npos);
}

TEST(ChartTest, NamesCannotBreakIt) {
  const auto named = report("<b a=\"1\">&'\x01\xFF h\xC3\xA9", {});
  const std::string svg = sim_codec::report_chart({&named, 1});
  EXPECT_EQ(broken(svg), "");
  EXPECT_NE(svg.find("&lt;b a=&quot;1&quot;&gt;&amp;&apos;?? h\xC3\xA9<"), std::string::npos)
      << svg;
  const auto longest = report(std::string(63, 'p'), {});
  EXPECT_NE(sim_codec::report_chart({&longest, 1}).find(">" + std::string(24, 'p') + "…<"),
            std::string::npos);
}

TEST(ChartTest, ManyPoliciesAreToldApart) {
  const std::vector<sim::SimulationReport> reports(16, report("p", {{0, 0}, {1, 1}}));
  const auto looks = found(sim_codec::report_chart(reports), "<polyline ([^>]*) points=");
  EXPECT_EQ(looks.size(), 32U);
  EXPECT_EQ(std::set<std::string>(looks.begin(), looks.end()).size(), 16U);
}

TEST(ChartTest, WhatIsNoNumberIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double huge = std::numeric_limits<double>::infinity();
  const auto odd = report("p", {{0, 0}, {nan, 1}, {1, nan}, {huge, 1}, {-1, 1}, {100, 100}});
  const std::string svg = sim_codec::report_chart({&odd, 1});
  EXPECT_EQ(broken(svg), "");
  EXPECT_EQ(found(svg, "(nan|inf)").size(), 0U);
  EXPECT_NE(svg.find("points=\"70,550 790,70\""), std::string::npos) << svg;
}

TEST(ChartTest, TheAxisEndsBehindTheLastArrival) {
  const auto churning = report("p", {{0, 0}, {633, 90}});
  const std::string svg = sim_codec::report_chart({&churning, 1});
  EXPECT_EQ(broken(svg), "");
  EXPECT_NE(svg.find(">650</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">700</text>"), std::string::npos);
}

}  // namespace
}  // namespace snug::chart_svg_test
