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

/// The models that the shape's pods may have: those that they name, where a GPU has as much memory
/// as they ask for. kAnyModel: all that there are.
[[nodiscard]] ModelSet models_of(const PodShape& shape, const Supply& supply);

}  // namespace snug
