// Writes simulation reports as JSON, as a text table and as a chart. All reports of one call are of
// the same trace. Policy names may be any text.
#pragma once

#include <span>
#include <string>

#include "snug/sim/report.hpp"

namespace snug::sim_codec {

/// As `snugctl simulate --json` writes it: one report is an object, several are a list of objects.
/// Percentages have at most four decimals, times three; what a run does not define is null.
[[nodiscard]] std::string report_json(std::span<const sim::SimulationReport> reports);

/// One column for each report; `-` for what a run does not define.
[[nodiscard]] std::string report_table(std::span<const sim::SimulationReport> reports);

/// SimulationReport::curve of each report, the allocation over the demand that has arrived, as one
/// SVG without scripts, fonts or style sheets. Each line has its own colour and dash pattern, so
/// that lines can be distinguished without colours too.
[[nodiscard]] std::string report_chart(std::span<const sim::SimulationReport> reports);

}  // namespace snug::sim_codec
