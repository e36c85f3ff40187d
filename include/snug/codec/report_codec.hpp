// What a simulation found out → JSON, as `snugctl simulate --json` writes it. Percentages have at
// most four decimals, times three. What a run does not define is null.
#pragma once

#include <span>
#include <string>

#include "snug/sim/report.hpp"

namespace snug {

/// One report is an object, several are a list of them.
[[nodiscard]] std::string write_reports(std::span<const SimulationReport> reports);

}  // namespace snug
