// Policies on MIG arrivals (bench/packing/mig): those of the files, beside what an independent
// simulator measured of seven rules, and others drawn like them from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"
#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug_bench {

struct MigRun {
  std::string mix;
  std::uint64_t seed = 0;
  snug::sim::Trace trace;
};

struct MigFigure {
  std::string mix;
  std::string mode;  // `fill` or `churn`
  std::string rule;
  double memory_slices_pct = 0;
};

/// The runs of the files. Ends the program with a sentence where one is missing or wrong.
[[nodiscard]] std::vector<MigRun> mig_runs(const std::string& folder);
[[nodiscard]] std::vector<MigFigure> mig_figures(const std::string& folder);
/// Runs like them, of their mixes and some others, for so many seeds from the first one on, on the
/// first of their cards: at most so many, 0 for all.
[[nodiscard]] std::vector<MigRun> draw_mig_runs(const std::string& folder, unsigned first_seed,
                                                unsigned seeds, int cards);

/// What the contenders made of one run, in their order.
struct MigResult {
  const MigRun* run = nullptr;
  std::vector<snug::sim::SimulationReport> reports;
};

/// A table in Markdown: memory slices in use, for each run and contender, and the best of
/// `figures`, if there are any.
[[nodiscard]] std::string table(const std::vector<Contender>& all,
                                const std::vector<MigResult>& results,
                                const std::vector<MigFigure>& figures);

/// The same, each row the mean over all mixes and seeds of one mode.
[[nodiscard]] std::string table_of_means(const std::vector<Contender>& all,
                                         const std::vector<MigResult>& results);

/// A sentence for each mode in which a policy of Snug's called tight is more than half a point
/// behind another contender in the mean.
[[nodiscard]] std::vector<std::string> findings_of_means(const std::vector<Contender>& all,
                                                         const std::vector<MigResult>& results);

/// A sentence for each rule that does not reproduce its figure, and each run in which a policy of
/// Snug's called tight is behind: where pods leave more than half a point behind the best of the
/// figures and rules, else at all behind the best of the first-fit and best-fit rules.
[[nodiscard]] std::vector<std::string> findings(const std::vector<Contender>& all,
                                                const std::vector<MigResult>& results,
                                                const std::vector<MigFigure>& figures);

}  // namespace snug_bench
