// Policies on MIG arrivals: those of the files in bench/packing/mig, compared with the results of
// seven rules in an independent simulator, and generated ones.
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

/// The runs of the files. Ends the program with an error message if one is missing or malformed.
[[nodiscard]] std::vector<MigRun> mig_runs(const std::string& folder);
[[nodiscard]] std::vector<MigFigure> mig_figures(const std::string& folder);
/// Generated runs of these mixes and some others, for `seeds` seeds from the first one on. They use
/// the first `cards` of the cards; 0: all.
[[nodiscard]] std::vector<MigRun> draw_mig_runs(const std::string& folder, unsigned first_seed,
                                                unsigned seeds, int cards);

/// The results of one run, in the order of the contenders.
struct MigResult {
  const MigRun* run = nullptr;
  std::vector<snug::sim::SimulationReport> reports;
};

/// A table in Markdown: memory slices in use, for each run and contender, and the best of
/// `figures`, if there are any.
[[nodiscard]] std::string table(const std::vector<Contender>& all,
                                const std::vector<MigResult>& results,
                                const std::vector<MigFigure>& figures);

/// The same table, with the mean over all mixes and seeds of one mode in each row.
[[nodiscard]] std::string table_of_means(const std::vector<Contender>& all,
                                         const std::vector<MigResult>& results);

/// A sentence for each mode in which Snug's policy tight is more than half a point behind another
/// contender in the mean.
[[nodiscard]] std::vector<std::string> findings_of_means(const std::vector<Contender>& all,
                                                         const std::vector<MigResult>& results);

/// A sentence for each rule that does not reproduce its figure, and for each run in which Snug's
/// policy tight is behind: in churn by more than half a point behind the best of all figures and
/// rules, in fill by any amount behind the best of the first-fit and best-fit rules.
[[nodiscard]] std::vector<std::string> findings(const std::vector<Contender>& all,
                                                const std::vector<MigResult>& results,
                                                const std::vector<MigFigure>& figures);

}  // namespace snug_bench
