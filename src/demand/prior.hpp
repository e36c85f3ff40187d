// The prior: demand that is assumed before any pod has been seen, and that fades out with the pods
// that are. Pure.
#pragma once

#include "snug/demand/demand_tables.hpp"
#include "snug/demand/gpu_supply.hpp"

namespace snug::demand {

/// kPriorPods, with CPU and memory in proportion to what the cluster has for each GPU.
[[nodiscard]] ShapeCounts prior_pods(const Supply& supply);
/// The weight of the prior after so many pods: max(0, 1 - pods / kPriorFadesOver).
[[nodiscard]] double prior_weight_after(double pods);

}  // namespace snug::demand
