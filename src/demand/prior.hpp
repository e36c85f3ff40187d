// The prior: the demand that is assumed before any pod has been seen. Its weight falls to 0 as pods
// are counted. Pure.
#pragma once

#include "snug/demand/demand_tables.hpp"
#include "snug/demand/gpu_supply.hpp"

namespace snug::demand {

/// The pods of kPriorPods. They request CPU and memory in proportion to their GPUs (see
/// kPriorHostDivisor).
[[nodiscard]] ShapeCounts prior_pods(const Supply& supply);
/// The weight of the prior when `pods` pods have been counted: max(0, 1 - pods / kPriorFadesOver).
[[nodiscard]] double prior_weight_after(double pods);

}  // namespace snug::demand
