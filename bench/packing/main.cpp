// Compares the policies that Snug ships with those of the FGD paper: on all runs of the openb
// trace, which makes the table that README.md and docs/packing.md quote, or with --regimes on
// workloads drawn from a seed. Exit code 1: a published figure is not reproduced, the default
// policy misses a bound, or it is behind FGD in some regime.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "comparison.hpp"
#include "contest.hpp"
#include "openb.hpp"
#include "published.hpp"
#include "regimes.hpp"
#include "snug/codec/chart_svg.hpp"

namespace snug_bench {
namespace {

struct Flags {
  std::string traces = SNUG_SOURCE_DIR "/bench/packing/openb";
  std::vector<std::string> policies{SNUG_SOURCE_DIR "/policies/best-fit.yaml",
                                    SNUG_SOURCE_DIR "/policies/tight.yaml"};
  std::string svg;
  bool ours = false;
  bool regimes = false;
  std::string only;
  unsigned seeds = 2;
  unsigned first_seed = 1;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

int say(const std::vector<std::string>& wrong) {
  for (const std::string& sentence : wrong) std::printf("%s\n", sentence.c_str());
  std::printf("%s\n", wrong.empty() ? "PASS" : "FAIL");
  return wrong.empty() ? 0 : 1;
}

std::vector<Contender> contenders(const Flags& flags) {
  std::vector<Contender> all;
  for (const std::string_view name : published_names()) {
    if (!flags.ours) all.push_back(published_contender(name));
  }
  for (const std::string& path : flags.policies) all.push_back(contender_of(path));
  return all;
}

/// The first fill run of each policy.
void write_svg(const std::string& path, const std::vector<PolicyResults>& results) {
  std::vector<snug::SimulationReport> firsts;
  for (const PolicyResults& each : results) firsts.push_back(each.fill.front());
  std::ofstream(path) << snug::write_chart(firsts);
}

int compare_on_openb(const Flags& flags, const Openb& openb) {
  const std::vector<Contender> all = contenders(flags);
  std::vector<PolicyResults> results;
  for (const Contender& each : all) {
    results.push_back({each.name, each.ours, {}, {}});
    results.back().fill.resize(openb.fill().size());
    results.back().churn.resize(openb.churn().size());
  }
  std::vector<std::function<void()>> tasks;
  const auto add = [&](const Contender& who, const OpenbRun& one, snug::SimulationReport& into) {
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
  if (!flags.svg.empty()) write_svg(flags.svg, results);
  return say(findings(results, openb));
}

int compare_in_regimes(const Flags& flags, const Openb& openb) {
  std::vector<Contender> all{published_contender("fgd")};
  for (const std::string& path : flags.policies) {
    Contender ours = contender_of(path);
    if (ours.name != "best-fit") all.push_back(std::move(ours));
  }
  std::vector<RegimeResults> results;
  for (Regime& regime : regimes()) {
    if (regime.name.find(flags.only) == std::string::npos) continue;
    results.push_back({std::move(regime), {}});
  }
  std::vector<std::function<void()>> tasks;
  for (RegimeResults& each : results) {
    for (const Contender& who : all) {
      each.policies.push_back({who.name, who.ours, {}});
      each.policies.back().runs.resize(flags.seeds);
    }
    for (unsigned i = 0; i < flags.seeds; ++i) {
      tasks.emplace_back([&, i] {
        const unsigned seed = flags.first_seed + i;
        const snug::Trace trace = draw(each.regime, openb.fill().front().trace, seed);
        for (std::size_t p = 0; p < all.size(); ++p) {
          each.policies[p].runs[i] = run(all[p], trace, seed);
        }
      });
    }
  }
  run_all(tasks, flags.jobs);
  std::fputs(table(results).c_str(), stdout);
  return say(findings(results));
}

int run_bench(int argc, char** argv) {
  Flags flags;
  CLI::App app("Compares policies on the openb trace.", "packing_bench");
  app.add_option("--traces", flags.traces, "the folder of the trace")->type_name("FOLDER");
  app.add_option("--policy", flags.policies,
                 "policies of Snug's to compare; by default best-fit and tight")
      ->type_name("FILE");
  app.add_option("--svg", flags.svg, "a chart of the first fill run")->type_name("FILE");
  app.add_option("--jobs", flags.jobs, "threads; by default one for each core")->type_name("N");
  app.add_flag("--ours", flags.ours, "leave out the published policies");
  app.add_flag("--regimes", flags.regimes, "compare with FGD on drawn workloads instead");
  app.add_option("--only", flags.only, "only the regimes with this text in their names")
      ->type_name("TEXT");
  app.add_option("--seeds", flags.seeds, "so many draws of each regime")->type_name("N");
  app.add_option("--first-seed", flags.first_seed, "of these draws")->type_name("N");
  CLI11_PARSE(app, argc, argv);
  const Openb openb(flags.traces);
  return flags.regimes ? compare_in_regimes(flags, openb) : compare_on_openb(flags, openb);
}

}  // namespace
}  // namespace snug_bench

int main(int argc, char** argv) { return snug_bench::run_bench(argc, argv); }
