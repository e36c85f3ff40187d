// Which pods are typical, as FGD has it. Pure.
#pragma once

#include <utility>
#include <vector>

#include "snug/demand/shape.hpp"
#include "snug/demand/supply.hpp"
#include "snug/model/demand.hpp"

namespace snug {

using CountedShape = std::pair<PodShape, double>;

/// The most frequent shapes that together make 95 % of the pods, kMostTypicalPods at most, the most
/// frequent first, with their parts of all those. Of equally frequent ones those given first.
[[nodiscard]] std::vector<TypicalPod> typical_pods(std::vector<CountedShape> pods,
                                                   const Supply& supply);

}  // namespace snug
