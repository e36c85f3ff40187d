// Runs the policies that Snug ships and those that the FGD paper compares over all runs of the
// openb trace, on all cores, and prints the table that README.md and docs/packing.md quote. Exit
// code 1: a published figure is not reproduced, or the default policy misses a bound.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "packing/comparison.hpp"
#include "packing/openb.hpp"
#include "packing/published.hpp"
#include "snug/codec/chart_svg.hpp"
#include "snug/codec/policy_codec.hpp"

namespace snug_bench {
namespace {

using MakePlacer = std::function<std::unique_ptr<snug::Placer>(const OpenbRun&)>;

struct Contender {
  std::string name;
  bool ours = false;
  MakePlacer placer;
};

std::vector<Contender> contenders(const std::vector<std::string>& policy_files, bool ours) {
  std::vector<Contender> all;
  for (const std::string_view name : published_names()) {
    if (ours) break;
    all.push_back({std::string(name), false, [name](const OpenbRun& run) {
                     return published_placer(name, run.trace, run.seed);
                   }});
  }
  for (const std::string& path : policy_files) {
    const auto policy = snug::read_policy(text_of(path), path, snug::Limits{});
    if (!policy) {
      std::fprintf(stderr, "packing_bench: %s\n", policy.error().message.c_str());
      std::exit(2);
    }
    const auto shared = std::make_shared<const snug::Policy>(*policy);
    all.push_back({shared->default_profile, true,
                   [shared](const OpenbRun&) { return snug::policy_placer(shared); }});
  }
  return all;
}

/// Each once, by as many threads as asked for, in any order.
void run_all(const std::vector<std::function<void()>>& tasks, unsigned jobs) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < jobs; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < tasks.size(); at = next++) {
        tasks[at]();
        std::fprintf(stderr, "\r%zu of %zu runs", std::min(at + 1, tasks.size()), tasks.size());
      }
    });
  }
  threads.clear();
  std::fprintf(stderr, "\r");
}

std::vector<PolicyResults> compare_all(const Openb& openb, const std::vector<Contender>& all,
                                       unsigned jobs) {
  static const snug::SteadyClock clock;
  std::vector<PolicyResults> results;
  for (const Contender& each : all) {
    results.push_back({each.name, each.ours, {}, {}});
    results.back().fill.resize(openb.fill().size());
    results.back().churn.resize(openb.churn().size());
  }
  std::vector<std::function<void()>> tasks;
  const auto add = [&](const Contender& who, const OpenbRun& run, snug::SimulationReport& into) {
    tasks.emplace_back([&who, &run, &into] {
      const auto placer = who.placer(run);
      into = snug::replay({run.trace, clock, {}}, *placer);
      into.policy = who.name;
      into.seed = run.seed;
    });
  };
  for (std::size_t p = 0; p < all.size(); ++p) {
    for (std::size_t i = 0; i < openb.churn().size(); ++i) {
      add(all[p], openb.churn()[i], results[p].churn[i]);
    }
    for (std::size_t i = 0; i < openb.fill().size(); ++i) {
      add(all[p], openb.fill()[i], results[p].fill[i]);
    }
  }
  run_all(tasks, jobs);
  return results;
}

/// The first run of each policy.
void write_svg(const std::string& path, const std::vector<PolicyResults>& results) {
  std::vector<snug::SimulationReport> firsts;
  for (const PolicyResults& each : results) firsts.push_back(each.fill.front());
  std::ofstream(path) << snug::write_chart(firsts);
}

int run(int argc, char** argv) {
  CLI::App app("Compares policies on the openb trace.", "packing_bench");
  const std::string here = SNUG_SOURCE_DIR;
  std::string traces = here + "/bench/packing/openb";
  std::vector<std::string> policies{here + "/policies/best-fit.yaml",
                                    here + "/policies/tight.yaml"};
  std::string svg;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("--traces", traces, "the folder of the trace")->type_name("FOLDER");
  app.add_option("--policy", policies,
                 "policies to run beside the published ones; by default those "
                 "that Snug ships")
      ->type_name("FILE");
  app.add_option("--svg", svg, "a chart of the first fill run")->type_name("FILE");
  app.add_option("--jobs", jobs, "threads; by default one for each core")->type_name("N");
  bool ours = false;
  app.add_flag("--ours", ours, "leave out the published policies");
  CLI11_PARSE(app, argc, argv);
  const Openb openb(traces);
  const std::vector<PolicyResults> results = compare_all(openb, contenders(policies, ours), jobs);
  std::fputs(table(results).c_str(), stdout);
  if (!svg.empty()) write_svg(svg, results);
  const std::vector<std::string> wrong = findings(results, openb);
  for (const std::string& sentence : wrong) std::printf("%s\n", sentence.c_str());
  std::printf("%s\n", wrong.empty() ? "PASS" : "FAIL");
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace snug_bench

int main(int argc, char** argv) { return snug_bench::run(argc, argv); }
