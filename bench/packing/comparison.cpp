#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

namespace snug_bench {
namespace {

using snug::sim::SimulationReport;

double mean(const std::vector<SimulationReport>& reports,
            const std::function<double(const SimulationReport&)>& of) {
  if (reports.empty()) return 0;
  double sum = 0;
  for (const SimulationReport& report : reports) sum += of(report);
  return sum / static_cast<double>(reports.size());
}

double at100_of(const SimulationReport& report) { return report.allocation.at100.value_or(0); }
double at130_of(const SimulationReport& report) { return report.allocation.at130.value_or(0); }
double accepted_of(const SimulationReport& report) {
  return report.churn ? report.churn->gpu_accepted_pct.value_or(0) : 0;
}
double multi_rejected_of(const SimulationReport& report) {
  return report.churn ? report.churn->multi_rejected_pct.value_or(0) : 0;
}

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// The tolerance, in points, within which a run reproduces the published figure. The draws of the
/// policy `random` cannot be reproduced, so its tolerance is larger.
double tolerance(std::string_view policy) { return policy == "random" ? 0.5 : 0.05; }

void compare(const PolicyResults& results, const Openb& openb, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < results.fill.size(); ++i) {
    const auto published =
        std::ranges::find_if(openb.published(), [&](const PublishedFigure& figure) {
          return figure.policy == results.name && figure.seed == openb.fill()[i].seed;
        });
    if (published == openb.published().end()) {
      found.push_back("no figure is published for " + results.name + " on " + openb.fill()[i].name);
      continue;
    }
    const auto check = [&](const char* where, double has, double wanted) {
      if (std::abs(has - wanted) <= tolerance(results.name)) return;
      found.push_back(results.name + " on " + openb.fill()[i].name + " at " + where +
                      " %: " + number(has, 2) + ", the published figure is " + number(wanted, 2));
    };
    check("100", results.fill[i].allocation.at100.value_or(0), published->at100);
    check("130", results.fill[i].allocation.at130.value_or(0), published->at130);
  }
}

struct Bound {
  const char* what;
  double value;
  double least;
  double most;
};

void check_bounds(const PolicyResults& results, std::vector<std::string>& found) {
  constexpr double kAll = 100;
  for (const Bound& bound :
       {Bound{"GPUs in use at 100 %", results.at100(), 96.2, kAll},
        Bound{"GPUs in use at 130 %", results.at130(), 96.3, kAll},
        Bound{"demand accepted", results.accepted(), 99.5, kAll},
        Bound{"pods of several GPUs rejected", results.multi_rejected(), 0, 5}}) {
    if (bound.value >= bound.least && bound.value <= bound.most) continue;
    found.push_back(results.name + ", " + bound.what + ": " + number(bound.value, 2) +
                    ", must be between " + number(bound.least, 2) + " and " +
                    number(bound.most, 2));
  }
}

}  // namespace

double PolicyResults::at100() const { return mean(fill, at100_of); }
double PolicyResults::at130() const { return mean(fill, at130_of); }
double PolicyResults::accepted() const { return mean(churn, accepted_of); }
double PolicyResults::multi_rejected() const { return mean(churn, multi_rejected_of); }

std::string table(const std::vector<PolicyResults>& all) {
  std::string text =
      "| policy | fill: GPUs in use at 100 % | at 130 % | churn: demand accepted | pods of several "
      "GPUs rejected | a decision |\n|---|---|---|---|---|---|\n";
  for (const PolicyResults& each : all) {
    const double micros =
        mean(each.churn, [](const SimulationReport& report) { return report.decision_us_p50; });
    const std::string mark = each.ours ? "**" : "";
    text += "| " + mark + each.name + mark + " | " + number(each.at100(), 2) + " % | " +
            number(each.at130(), 2) + " % | " + number(each.accepted(), 2) + " % | " +
            number(each.multi_rejected(), 2) + " % | " + number(micros, 1) + " µs |\n";
  }
  return text;
}

std::vector<std::string> findings(const std::vector<PolicyResults>& all, const Openb& openb) {
  std::vector<std::string> found;
  for (const PolicyResults& each : all) {
    if (!each.ours) {
      compare(each, openb, found);
    } else if (each.name == "tight") {
      check_bounds(each, found);
    }
  }
  return found;
}

std::string table(const std::vector<RegimeResults>& all) {
  if (all.empty()) return "";
  std::string text = "| regime |";
  std::string line = "|---|";
  for (const PolicyResults& policy : all.front().policies) {
    text += " " + policy.name + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const RegimeResults& each : all) {
    text += "| " + each.regime.name + " |";
    for (const PolicyResults& policy : each.policies) {
      text += each.regime.churns
                  ? " " + number(policy.accepted(), 2) + " (multi-GPU rejected " +
                        number(policy.multi_rejected(), 1) + ") |"
                  : " " + number(policy.at100(), 2) + " / " + number(policy.at130(), 2) + " |";
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> findings(const std::vector<RegimeResults>& all) {
  std::vector<std::string> found;
  for (const RegimeResults& each : all) {
    const PolicyResults& fgd = each.policies.front();
    for (const PolicyResults& policy : each.policies) {
      const bool behind = policy.at100() < fgd.at100() || policy.at130() < fgd.at130() ||
                          policy.accepted() < fgd.accepted();
      if (behind) found.push_back(policy.name + " is behind FGD: " + each.regime.name);
    }
  }
  return found;
}

}  // namespace snug_bench
