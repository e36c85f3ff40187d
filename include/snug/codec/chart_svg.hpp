// A chart of simulations side by side, as one SVG that needs nothing else: no script, no font, no
// style sheet. Each line has a colour and a dash pattern of its own, so that it can be told apart
// without colours too.
#pragma once

#include <span>
#include <string>

#include "snug/sim/report.hpp"

namespace snug {

/// SimulationReport::curve of each report: the allocation over the demand that has arrived. All
/// reports are of one trace. Names may be any text.
[[nodiscard]] std::string write_chart(std::span<const SimulationReport> reports);

}  // namespace snug
