// How a decision's time grows with the cluster: the trace's nodes several times over, with as many
// pods on each.
#pragma once

#include <string>
#include <vector>

#include "contest.hpp"
#include "openb.hpp"

namespace snug_bench {

struct GrowthRow {
  std::size_t times = 1;  // the trace's nodes
  snug::sim::SimulationReport report;
};

/// Runs one after another, because the runs measure times.
[[nodiscard]] std::vector<GrowthRow> grow(const Contender& who, const OpenbRun& run);

/// A table in Markdown.
[[nodiscard]] std::string table(const std::vector<GrowthRow>& rows);
/// A sentence for each failure: the median decision on the trace's own nodes takes more than 20 us,
/// or on n times the nodes more than n times as long.
[[nodiscard]] std::vector<std::string> findings(const std::vector<GrowthRow>& rows);

}  // namespace snug_bench
