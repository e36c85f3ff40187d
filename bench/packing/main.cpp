// Compares the policies that Snug ships with those of the FGD paper, on all runs of the openb
// trace; docs/explanation/packing.md quotes the table, and README.md a part of it. With --regimes
// it uses generated workloads, and with --mig arrivals that request MIG slices, compared with
// simple rules. --growth shows how the time of a decision grows with the cluster, and --refusals
// the idle GPUs when pods were refused, both with the default policy. Exit code 1: a published
// figure is not reproduced, the default policy misses a bound, is behind FGD in some regime or
// behind the best rule for slices, its decisions take too long, or the chart cannot be written.
// Exit code 2: a flag or a file is wrong.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comparison.hpp"
#include "contest.hpp"
#include "growth.hpp"
#include "mig.hpp"
#include "mig_rules.hpp"
#include "openb.hpp"
#include "published.hpp"
#include "refusals.hpp"
#include "regimes.hpp"
#include "snug/config/flag_errors.hpp"
#include "snug/sim_codec/report_codec.hpp"

namespace snug_bench {
namespace {

struct Flags {
  std::string traces = SNUG_SOURCE_DIR "/bench/packing/openb";
  std::vector<std::string> policies;
  std::string svg;
  bool ours = false;
  bool regimes = false;
  bool mig = false;
  bool growth = false;
  bool refusals = false;
  std::string only;
  std::optional<unsigned> seeds;
  std::optional<unsigned> first_seed;
  int cards = 0;  // 0: all
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

constexpr unsigned kSeeds = 2;  // default of --seeds
constexpr int kFailed = 1;
constexpr int kWrong = 2;

int complain(int code, const std::string& sentence) {
  std::fprintf(stderr, "packing_bench: %s\n", sentence.c_str());
  return code;
}

int say(const std::vector<std::string>& wrong) {
  for (const std::string& sentence : wrong) std::printf("%s\n", sentence.c_str());
  std::printf("%s\n", wrong.empty() ? "PASS" : "FAIL");
  return wrong.empty() ? 0 : kFailed;
}

std::vector<Contender> contenders(const Flags& flags) {
  std::vector<Contender> all;
  for (const std::string_view name : published_names()) {
    if (!flags.ours) all.push_back(published_contender(name));
  }
  for (const std::string& path : flags.policies) all.push_back(contender_of(path));
  return all;
}

/// A chart of the first fill run of each policy. False: the file cannot be written.
bool write_svg(const std::string& path, const std::vector<PolicyResults>& results) {
  std::vector<snug::sim::SimulationReport> firsts;
  for (const PolicyResults& each : results) firsts.push_back(each.fill.front());
  std::ofstream file(path);
  file << snug::sim_codec::report_chart(firsts) << std::flush;
  return file.good();
}

/// Does not change a file that exists.
bool is_writable(const std::string& path) { return std::ofstream(path, std::ios::app).good(); }

int compare_on_openb(const Flags& flags, const Openb& openb) {
  const std::string unwritable = flags.svg + " cannot be written";
  if (!flags.svg.empty() && !is_writable(flags.svg)) return complain(kFailed, unwritable);
  const std::vector<Contender> all = contenders(flags);
  std::vector<PolicyResults> results;
  for (const Contender& each : all) {
    results.push_back({each.name, each.ours, {}, {}});
    results.back().fill.resize(openb.fill().size());
    results.back().churn.resize(openb.churn().size());
  }
  std::vector<std::function<void()>> tasks;
  const auto add = [&](const Contender& who, const OpenbRun& one,
                       snug::sim::SimulationReport& into) {
    tasks.emplace_back([&who, &one, &into] { into = run(who, one.trace, one.seed); });
  };
  for (std::size_t p = 0; p < all.size(); ++p) {
    for (std::size_t i = 0; i < openb.churn().size(); ++i) {
      add(all[p], openb.churn()[i], results[p].churn[i]);
    }
    for (std::size_t i = 0; i < openb.fill().size(); ++i) {
      add(all[p], openb.fill()[i], results[p].fill[i]);
    }
  }
  run_all(tasks, flags.jobs);
  std::fputs(table(results).c_str(), stdout);
  if (!flags.svg.empty() && !write_svg(flags.svg, results)) return complain(kFailed, unwritable);
  return say(findings(results, openb));
}

int compare_in_regimes(const Flags& flags, const Openb& openb) {
  const unsigned seeds = flags.seeds.value_or(kSeeds);
  std::vector<Contender> all{published_contender("fgd")};
  for (const std::string& path : flags.policies) all.push_back(contender_of(path));
  std::vector<RegimeResults> results;
  for (Regime& regime : regimes()) {
    if (regime.name.find(flags.only) == std::string::npos) continue;
    results.push_back({std::move(regime), {}});
  }
  if (results.empty())
    return complain(kWrong, "--only: no regime has \"" + flags.only + "\" in its name");
  std::vector<std::function<void()>> tasks;
  for (RegimeResults& each : results) {
    for (const Contender& who : all) {
      PolicyResults& policy = each.policies.emplace_back(who.name, who.ours);
      (each.regime.churns ? policy.churn : policy.fill).resize(seeds);
    }
    for (unsigned i = 0; i < seeds; ++i) {
      tasks.emplace_back([&, i] {
        const unsigned seed = flags.first_seed.value_or(1) + i;
        const snug::sim::Trace trace = draw(each.regime, openb.fill().front().trace, seed);
        for (std::size_t p = 0; p < all.size(); ++p) {
          PolicyResults& policy = each.policies[p];
          (each.regime.churns ? policy.churn : policy.fill)[i] = run(all[p], trace, seed);
        }
      });
    }
  }
  run_all(tasks, flags.jobs);
  std::fputs(table(results).c_str(), stdout);
  return say(findings(results));
}

int compare_on_mig(const Flags& flags) {
  const std::string folder = SNUG_SOURCE_DIR "/bench/packing/mig";
  const bool drawn = flags.seeds.has_value();
  const std::vector<MigRun> runs =
      drawn ? draw_mig_runs(folder, flags.first_seed.value_or(1), *flags.seeds, flags.cards)
            : mig_runs(folder);
  const std::vector<MigFigure> figures = drawn ? std::vector<MigFigure>{} : mig_figures(folder);
  std::vector<Contender> all;
  for (const std::string_view name : mig_rule_names()) all.push_back(mig_rule_contender(name));
  for (const std::string& path : flags.policies) all.push_back(contender_of(path));
  std::vector<MigResult> results;
  for (const MigRun& each : runs) results.push_back({&each, {}});
  std::vector<std::function<void()>> tasks;
  for (MigResult& each : results) {
    each.reports.resize(all.size());
    for (std::size_t p = 0; p < all.size(); ++p) {
      tasks.emplace_back(
          [&, p] { each.reports[p] = run(all[p], each.run->trace, each.run->seed); });
    }
  }
  run_all(tasks, flags.jobs);
  if (flags.cards > 0) {
    std::fputs(table_of_means(all, results).c_str(), stdout);
    return say(findings_of_means(all, results));
  }
  std::fputs(table(all, results, figures).c_str(), stdout);
  return say(findings(all, results, figures));
}

int time_growth(const Openb& openb) {
  const Contender tight = contender_of(SNUG_SOURCE_DIR "/policies/tight.yaml");
  const std::vector<GrowthRow> rows = grow(tight, openb.churn().front());
  std::fputs(table(rows).c_str(), stdout);
  return say(findings(rows));
}

int show_refusals(const Openb& openb) {
  const Contender tight = contender_of(SNUG_SOURCE_DIR "/policies/tight.yaml");
  std::vector<RefusedPod> all;
  for (const OpenbRun& each : openb.churn()) {
    std::ranges::move(refused_pods(tight, each), std::back_inserter(all));
  }
  std::fputs(table(all).c_str(), stdout);
  return 0;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--traces", flags.traces, "the folder of the trace")->type_name("FOLDER");
  CLI::Option* policies =
      app.add_option(
             "--policy", flags.policies,
             "policy files to compare; by default best-fit and tight, with --regimes only tight")
          ->type_name("FILE");
  CLI::Option* svg =
      app.add_option("--svg", flags.svg, "a chart of the first fill run")->type_name("FILE");
  app.add_option("--jobs", flags.jobs, "number of threads; by default one per core")
      ->type_name("N")
      ->check(CLI::Range(1U, 1'024U));
  CLI::Option* ours = app.add_flag("--ours", flags.ours, "omit the published policies");
  std::vector<CLI::Option*> modes;
  CLI::Option* mig = nullptr;
  for (auto& [name, flag, meaning] :
       {std::tuple("--regimes", &flags.regimes, "compare with FGD on generated workloads instead"),
        std::tuple("--mig", &flags.mig,
                   "compare with simple rules on arrivals that request MIG slices instead; with "
                   "--seeds on generated ones"),
        std::tuple("--growth", &flags.growth,
                   "measure decisions of the default policy on larger clusters"),
        std::tuple("--refusals", &flags.refusals,
                   "list the idle GPUs when the default policy refused pods with several GPUs")}) {
    CLI::Option* mode = app.add_flag(name, *flag, meaning)->excludes(svg)->excludes(ours);
    for (CLI::Option* other : modes) mode->excludes(other);
    if (flag == &flags.growth || flag == &flags.refusals) mode->excludes(policies);
    modes.push_back(mode);
    if (flag == &flags.mig) mig = mode;
  }
  app.add_option("--only", flags.only, "only the regimes with this text in their names")
      ->type_name("TEXT")
      ->needs(modes.front());
  CLI::Option* seeds =
      app.add_option("--seeds", flags.seeds,
                     "number of runs of each regime, 2 by default, or with --mig of each mix")
          ->type_name("N")
          ->check(CLI::Range(1U, 1'000U));
  app.add_option("--first-seed", flags.first_seed, "the first seed of these runs; 1 by default")
      ->type_name("N")
      ->check(CLI::Range(0U, std::numeric_limits<unsigned>::max()))
      ->needs(seeds);
  app.add_option("--cards", flags.cards,
                 "with --mig, the means over all runs on this number of cards instead of 500")
      ->type_name("N")
      ->check(CLI::Range(1, 500))
      ->needs(mig)
      ->needs(seeds);
}

int run_bench(int argc, char** argv) {
  Flags flags;
  CLI::App app("Compares policies on the openb trace.", "packing_bench");
  add_flags(app, flags);
  try {
    if (const std::string message = snug::config::parse_flags(app, argc, argv); !message.empty())
      return complain(kWrong, message + "; see --help");
  } catch (const CLI::Success& help) {
    return app.exit(help);
  }
  if (flags.seeds && !flags.regimes && !flags.mig) {
    return complain(kWrong, "--seeds belongs to --regimes or --mig, which are missing");
  }
  if (flags.policies.empty()) {
    if (!flags.regimes) flags.policies.push_back(SNUG_SOURCE_DIR "/policies/best-fit.yaml");
    flags.policies.push_back(SNUG_SOURCE_DIR "/policies/tight.yaml");
  }
  if (flags.mig) return compare_on_mig(flags);
  const Openb openb(flags.traces);
  if (flags.growth) return time_growth(openb);
  if (flags.refusals) return show_refusals(openb);
  return flags.regimes ? compare_in_regimes(flags, openb) : compare_on_openb(flags, openb);
}

}  // namespace
}  // namespace snug_bench

int main(int argc, char** argv) { return snug_bench::run_bench(argc, argv); }
