// Computes the typical pods of FGD's fragmentation measure. Pure.
#pragma once

#include <utility>
#include <vector>

#include "snug/demand/gpu_supply.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"

namespace snug::demand {

using CountedShape = std::pair<PodShape, double>;

/// The most frequent shapes that together account for kTypicalPart of all pods, at most
/// kMaxTypicalPods. They are ordered by descending frequency; equally frequent shapes keep the
/// order of `pods`. The sum of TypicalPod::share over them is 1 (fixed point).
[[nodiscard]] std::vector<model::TypicalPod> typical_pods(std::vector<CountedShape> pods,
                                                          const Supply& supply);

}  // namespace snug::demand
