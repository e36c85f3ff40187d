// Simulations side by side, as a table for people.
#pragma once

#include <span>
#include <string>

#include "snug/sim/report.hpp"

namespace snug {

/// One column for each report, all of one trace; `-` for what a run does not define.
[[nodiscard]] std::string report_table(std::span<const SimulationReport> reports);

}  // namespace snug
