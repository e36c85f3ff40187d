// The typical pods of a whole trace, by which fragmentation is measured.
#pragma once

#include <vector>

#include "snug/demand/supply.hpp"
#include "snug/model/demand.hpp"
#include "snug/sim/trace.hpp"

namespace snug {

[[nodiscard]] std::vector<TypicalPod> typical_of(const Trace& trace, const Supply& supply);

}  // namespace snug
