// Writes simulation reports as JSON, as a text table and as a chart. All reports of one call must
// be for the same trace. Policy names may be any text.
#pragma once

#include <span>
#include <string>

#include "snug/sim/report.hpp"

namespace snug::sim_codec {

/// Returns the JSON that `snugctl simulate --json` writes: an object for one report, a list of
/// objects for several. Percentages have at most four decimals, durations at most three. A value
/// that a report does not have is null.
[[nodiscard]] std::string report_json(std::span<const sim::SimulationReport> reports);

/// Returns a text table with one column for each report. A value that a report does not have is
/// `-`.
[[nodiscard]] std::string report_table(std::span<const sim::SimulationReport> reports);

/// Returns an SVG chart with one line for each report, its SimulationReport::curve, and the name
/// and the last value at its end. The chart enlarges the part where the lines differ from each
/// other or from the reference, and shows the whole run as a small picture. Lines differ in colour
/// and in dash pattern, so they can be distinguished without colours. The SVG has no scripts and no
/// fonts; its style sheet has colours for light and for dark pages.
[[nodiscard]] std::string report_chart(std::span<const sim::SimulationReport> reports);

}  // namespace snug::sim_codec
