// FGD's typical pods. Pure.
#pragma once

#include <utility>
#include <vector>

#include "snug/demand/gpu_supply.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/model/demand.hpp"

namespace snug::demand {

using CountedShape = std::pair<PodShape, double>;

/// The most frequent shapes that together make kTypicalPart of the pods, kMaxTypicalPods at most,
/// most frequent first, in the order given if equally frequent. Their shares add up to one.
[[nodiscard]] std::vector<model::TypicalPod> typical_pods(std::vector<CountedShape> pods,
                                                          const Supply& supply);

}  // namespace snug::demand
