#include "mig.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "draws.hpp"
#include "mig_rules.hpp"
#include "openb.hpp"
#include "row.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug_bench {
namespace {

using snug::sim::SimulationReport;
using snug::sim::Trace;

constexpr std::array kProfiles = {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
constexpr std::array kSizes = {1, 2, 2, 4, 4, 8};
using Weights = std::array<double, kProfiles.size()>;

struct Mix {
  const char* name;
  Weights weights;
};
constexpr std::array kMixes = {
    Mix{"uniform", {1, 1, 1, 1, 1, 1}}, Mix{"small", {.4, .15, .2, .15, .05, .05}},
    Mix{"big", {.1, .05, .15, .3, .2, .2}}, Mix{"infer", {.3, .2, .25, .2, .05, 0}},
    Mix{"bimodal", {.45, 0, .05, .05, 0, .45}}};
/// Other mixes, which were not used for tuning.
constexpr std::array kFurtherMixes = {Mix{"halves", {.2, 0, .1, .4, .2, .1}},
                                      Mix{"middle", {.1, .2, .4, .2, .05, .05}},
                                      Mix{"notebooks", {.6, .2, .1, .1, 0, 0}}};

constexpr std::size_t kArrivals = 20'000;  // in churn
constexpr double kLoad = 0.95;
constexpr double kFilledTo = 1.3;
constexpr int kAxis = 8;
constexpr double kMayBeBehind = 0.5;  // points; single runs are noisy

template <typename T>
T must(snug::base::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "packing_bench: %s\n", result.error().message.c_str());
  std::exit(2);
}

Trace cluster(const std::string& folder) {
  const std::string path = folder + "/nodes.csv";
  Trace trace;
  trace.nodes =
      must(snug::sim_codec::read_trace_nodes({text_of(path), path}, snug::base::Limits{}));
  return trace;
}

void keep_cards(Trace& trace, int cards) {
  std::size_t nodes = 0;
  for (; nodes < trace.nodes.size() && cards > 0; ++nodes) {
    trace.nodes[nodes].gpus = std::min(trace.nodes[nodes].gpus, cards);
    cards -= trace.nodes[nodes].gpus;
  }
  trace.nodes.resize(nodes);
}

void read_arrivals(const std::string& text, const std::string& source, Trace& trace) {
  if (const auto read = snug::sim_codec::read_trace_arrivals({text, source}, trace); !read) {
    std::fprintf(stderr, "packing_bench: %s\n", read.error().message.c_str());
    std::exit(2);
  }
}

/// Lines of arrivals in the format of the files.
std::string draw_arrivals(const Mix& mix, bool churns, std::int64_t slices, Draws& draws) {
  double all = 0;
  double mean = 0;
  for (std::size_t i = 0; i < mix.weights.size(); ++i) {
    all += mix.weights[i];
    mean += mix.weights[i] * kSizes[i];
  }
  mean /= all;
  const double life = kLoad * static_cast<double>(slices) / mean;
  std::string text;
  std::int64_t arrived = 0;
  for (std::size_t n = 0;
       churns ? n < kArrivals
              : static_cast<double>(arrived) < kFilledTo * static_cast<double>(slices);
       ++n) {
    double at = draws.part() * all;
    std::size_t profile = 0;
    while (at >= mix.weights[profile] && profile + 1 < kProfiles.size()) {
      at -= mix.weights[profile++];
    }
    arrived += kSizes[profile];
    text += row_of(churns ? "m %s %.1f\n" : "m %s\n", kProfiles[profile],
                   churns ? draws.exponential() * life : 0.0);
  }
  return text;
}

double slices_of(const SimulationReport& report) {
  return report.mig ? report.mig->memory_slices_pct : 0;
}

std::string mode_of(const MigRun& run) { return run.trace.churns() ? "churn" : "fill"; }

/// The value of each contender, in their order.
std::map<std::string, std::vector<double>> means_by_mode(const std::vector<MigResult>& results) {
  std::map<std::string, std::vector<double>> sums;
  std::map<std::string, int> runs;
  for (const MigResult& each : results) {
    const std::string mode = mode_of(*each.run);
    sums[mode].resize(each.reports.size());
    for (std::size_t i = 0; i < each.reports.size(); ++i) {
      sums[mode][i] += slices_of(each.reports[i]);
    }
    ++runs[mode];
  }
  for (auto& [mode, means] : sums) {
    for (double& mean : means) mean /= runs[mode];
  }
  return sums;
}

std::optional<double> best_of(const MigRun& run, const std::vector<MigFigure>& figures,
                              bool simple_rules) {
  std::optional<double> best;
  for (const MigFigure& each : figures) {
    if (each.mix != run.mix || each.mode != mode_of(run)) continue;
    const bool simple = std::ranges::find(mig_rule_names(), each.rule) != mig_rule_names().end();
    if (simple || !simple_rules) best = std::max(best.value_or(0), each.memory_slices_pct);
  }
  return best;
}

}  // namespace

std::vector<MigRun> mig_runs(const std::string& folder) {
  constexpr std::uint64_t kSeed = 42;
  std::vector<MigRun> runs;
  for (const Mix& mix : kMixes) {
    for (const char* mode : {"fill", "churn"}) {
      const std::string path = folder + "/arrivals/" + mix.name + "-" + mode + ".42.txt";
      MigRun& run = runs.emplace_back(MigRun{mix.name, kSeed, cluster(folder)});
      read_arrivals(text_of(path), path, run.trace);
    }
  }
  return runs;
}

std::vector<MigFigure> mig_figures(const std::string& folder) {
  std::vector<MigFigure> all;
  std::istringstream lines(text_of(folder + "/reference.csv"));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    MigFigure& figure = all.emplace_back();
    std::getline(cells, figure.mix, ',');
    std::getline(cells, figure.mode, ',');
    std::getline(cells, figure.rule, ',');
    cells >> figure.memory_slices_pct;
  }
  return all;
}

std::vector<MigRun> draw_mig_runs(const std::string& folder, unsigned first_seed, unsigned seeds,
                                  int cards) {
  std::vector<Mix> mixes(kMixes.begin(), kMixes.end());
  mixes.insert(mixes.end(), kFurtherMixes.begin(), kFurtherMixes.end());
  std::vector<MigRun> runs;
  for (const Mix& mix : mixes) {
    for (unsigned i = 0; i < seeds; ++i) {
      for (const bool churns : {false, true}) {
        Draws draws(std::uint64_t{first_seed} + i);
        MigRun& run = runs.emplace_back(MigRun{mix.name, first_seed + i, cluster(folder)});
        if (cards > 0) keep_cards(run.trace, cards);
        const std::int64_t slices = kAxis * run.trace.gpu_count();
        read_arrivals(draw_arrivals(mix, churns, slices, draws), "drawn arrivals", run.trace);
      }
    }
  }
  return runs;
}

std::string table(const std::vector<Contender>& all, const std::vector<MigResult>& results,
                  const std::vector<MigFigure>& figures) {
  std::string text = "| mix |";
  std::string line = "|---|";
  const auto column = [&](const std::string& name) {
    text += " " + name + " |";
    line += "---|";
  };
  if (figures.empty()) column("seed");
  if (!figures.empty()) column("best of seven rules");
  for (const Contender& who : all) column(who.ours ? "**" + who.name + "**" : who.name);
  text += "\n" + line + "\n";
  for (const MigResult& each : results) {
    text += "| " + mode_of(*each.run) + ": " + each.run->mix + " |";
    if (figures.empty()) text += " " + std::to_string(each.run->seed) + " |";
    if (!figures.empty()) text += row_of(" %.2f |", best_of(*each.run, figures, false).value_or(0));
    for (const SimulationReport& report : each.reports) {
      text += row_of(" %.2f |", slices_of(report));
    }
    text += "\n";
  }
  return text;
}

std::string table_of_means(const std::vector<Contender>& all,
                           const std::vector<MigResult>& results) {
  std::string text = "| |";
  std::string line = "|---|";
  for (const Contender& who : all) {
    text += " " + (who.ours ? "**" + who.name + "**" : who.name) + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& [mode, means] : means_by_mode(results)) {
    text += "| " + mode + " |";
    for (const double mean : means) text += row_of(" %.2f |", mean);
    text += "\n";
  }
  return text;
}

std::vector<std::string> findings_of_means(const std::vector<Contender>& all,
                                           const std::vector<MigResult>& results) {
  std::vector<std::string> found;
  for (const auto& [mode, means] : means_by_mode(results)) {
    const double best = std::ranges::max(means);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].ours || all[i].name != "tight" || means[i] >= best - kMayBeBehind) continue;
      found.push_back(
          row_of("tight in %s: %.2f in the mean, the best has %.2f", mode.c_str(), means[i], best));
    }
  }
  return found;
}

std::vector<std::string> findings(const std::vector<Contender>& all,
                                  const std::vector<MigResult>& results,
                                  const std::vector<MigFigure>& figures) {
  constexpr double kReproduced = 0.02;
  std::vector<std::string> found;
  for (const MigResult& each : results) {
    const bool churns = each.run->trace.churns();
    double best = best_of(*each.run, figures, !churns).value_or(0);
    const std::string where = " in " + mode_of(*each.run) + ": " + each.run->mix + ", seed " +
                              std::to_string(each.run->seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].ours) continue;
      best = std::max(best, slices_of(each.reports[i]));
      const auto figure = std::ranges::find_if(figures, [&](const MigFigure& one) {
        return one.mix == each.run->mix && one.mode == mode_of(*each.run) &&
               one.rule == all[i].name;
      });
      if (figure == figures.end()) continue;
      const double has = slices_of(each.reports[i]);
      if (std::abs(has - figure->memory_slices_pct) <= kReproduced) continue;
      found.push_back(all[i].name + where +
                      row_of(": %.2f, the reference is %.2f", has, figure->memory_slices_pct));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double has = slices_of(each.reports[i]);
      if (!all[i].ours || all[i].name != "tight") continue;
      if (has >= best - (churns ? kMayBeBehind : 0)) continue;
      found.push_back(all[i].name + where + row_of(": %.2f, the best rule has %.2f", has, best));
    }
  }
  return found;
}

}  // namespace snug_bench
