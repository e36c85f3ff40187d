// Tables for people. The texts are ASCII, apart from names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "snug/sim/report.hpp"

namespace snug::sim_codec {

/// Returns the rows as lines. The first column is aligned to the left, the others to the right.
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// Returns the table of the results for a cluster: one column for its present state and one for
/// each report, and the pods that each policy refuses. At least one report is required.
[[nodiscard]] std::string cluster_table(std::span<const sim::SimulationReport> reports);

}  // namespace snug::sim_codec
