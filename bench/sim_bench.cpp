// Runs the simulations of tests/sim for many seeds: one Snug that is checked against the naive
// model, in clusters with shares and with MIG slices, and two replicas with leader election.
//
//   sim_bench [--seeds N] [--first SEED] [--steps N] [--threads N] [--mode shares|slices|two]
//             [--record]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "report.hpp"
#include "sim/harness/cluster_simulation.hpp"
#include "sim/harness/simulation.hpp"

namespace {

constexpr std::array kModes{"shares", "slices", "two"};

struct Settings {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1'000;
  int steps = 2'000;
  unsigned threads = 0;
  std::string mode;
  bool record = false;
};

struct Sum {
  std::int64_t runs = 0;
  std::int64_t steps = 0;  // including nested steps, which run during a call
  std::int64_t bound = 0;
  std::int64_t faults = 0;
  std::int64_t takeovers = 0;
  std::int64_t stops = 0;
  std::int64_t kills = 0;
  std::int64_t late = 0;
  std::int64_t lies = 0;
  std::int64_t quiet = 0;
  std::int64_t violations = 0;

  void add(const Sum& other) {
    runs += other.runs;
    steps += other.steps;
    bound += other.bound;
    faults += other.faults;
    takeovers += other.takeovers;
    stops += other.stops;
    kills += other.kills;
    late += other.late;
    lies += other.lies;
    quiet += other.quiet;
    violations += other.violations;
  }
};

Sum run_two(std::uint64_t seed, int steps, std::string& trace) {
  snug::ClusterSimulation run(seed, snug::options_of(seed));
  const bool good = run.run(steps);
  if (!good) trace = run.trace();
  const auto& tally = run.tally();
  return {.runs = 1,
          .steps = steps + tally.nested_steps,
          .bound = tally.bound,
          .faults = tally.faults,
          .takeovers = tally.takeovers,
          .stops = tally.stops,
          .kills = tally.kills,
          .late = tally.late_posts,
          .lies = tally.lies,
          .quiet = tally.quiet_checks,
          .violations = good ? 0 : 1};
}

Sum run_one(std::uint64_t seed, snug::SimCluster cluster, int steps, std::string& trace) {
  snug::Simulation run(seed, cluster);
  const bool good = run.run(steps);
  if (!good) trace = run.trace();
  const auto& tally = run.tally();
  return {.runs = 1,
          .steps = steps + tally.nested_steps,
          .bound = tally.bound,
          .kills = tally.restarts,
          .quiet = tally.quiet_checks,
          .violations = good ? 0 : 1};
}

Sum run_mode(std::size_t mode, std::uint64_t seed, int steps, std::string& trace) {
  if (mode == 2) return run_two(seed, steps, trace);
  return run_one(seed, mode == 0 ? snug::SimCluster::kShares : snug::SimCluster::kSlices, steps,
                 trace);
}

Sum run_all(const Settings& settings, std::size_t mode) {
  std::atomic<std::uint64_t> next{settings.first};
  std::mutex mutex;
  Sum sum;
  const auto work = [&] {
    for (std::uint64_t seed = next++; seed < settings.first + settings.seeds; seed = next++) {
      std::string trace;
      const Sum one = run_mode(mode, seed, settings.steps, trace);
      const std::lock_guard lock(mutex);
      sum.add(one);
      if (trace.empty()) continue;
      std::printf("VIOLATION in %s at seed %ju\n%s", kModes.at(mode),
                  static_cast<std::uintmax_t>(seed), trace.c_str());
    }
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads(settings.threads > 0 ? settings.threads : cores);
  for (std::jthread& thread : threads) thread = std::jthread(work);
  threads.clear();
  return sum;
}

/// Prints `text`, and appends it to the page of results.
void say(std::string& page, const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  page += text;
}

std::string row_of(const char* name, const Sum& sum, double seconds) {
  std::string row = std::string("| ") + name;
  for (const std::int64_t number :
       {sum.runs, sum.steps, sum.bound, sum.faults, sum.takeovers, sum.stops, sum.kills, sum.late,
        sum.lies, sum.quiet, sum.violations}) {
    row += " | " + std::to_string(number);
  }
  return row + " | " + std::to_string(std::llround(seconds)) + " |\n";
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Runs the simulations of tests/sim for many seeds.");
  app.add_option("--first", settings.first, "the first seed")->capture_default_str();
  app.add_option("--seeds", settings.seeds, "how many of each mode")->capture_default_str();
  app.add_option("--steps", settings.steps, "of each run")->capture_default_str();
  app.add_option("--threads", settings.threads, "default: one for each core");
  app.add_option("--mode", settings.mode, "only this one: shares, slices or two")
      ->check(CLI::IsMember({"shares", "slices", "two"}));
  app.add_flag("--record", settings.record, "write bench/results/sim.md");
  CLI11_PARSE(app, argc, argv);
  std::string page;
  say(page,
      "| mode | runs | steps | bound | faults | takeovers | stops | kills | late POSTs | lies | "
      "quiet "
      "checks | violations | seconds |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::int64_t violations = 0;
  for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
    if (!settings.mode.empty() && settings.mode != kModes.at(mode)) continue;
    const auto started = std::chrono::steady_clock::now();
    const Sum sum = run_all(settings, mode);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    say(page, row_of(kModes.at(mode), sum, took.count()));
    violations += sum.violations;
  }
  say(page, "\n" + std::string(violations == 0 ? "PASS" : "FAIL") + ": " +
                std::to_string(violations) + " runs broke a rule, of " +
                std::to_string(settings.seeds) + " seeds of each mode from " +
                std::to_string(settings.first) + " on, of " + std::to_string(settings.steps) +
                " steps each.\n");
  if (settings.record) {
    std::string command = "build/dev/bench/sim_bench";
    for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
    snug_bench::write_page(SNUG_SOURCE_DIR "/bench/results/sim.md",
                           "# Simulations\n\n    " + command + "\n\n" +
                               snug_bench::day_and_machine() + ".\n\n" + page);
  }
  return violations == 0 ? 0 : 1;
}
