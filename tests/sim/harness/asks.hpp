// Random requests of the simulated pods, in every form that the annotations allow.
#pragma once

#include "snug/model/pod.hpp"
#include "support/random.hpp"

namespace snug {

/// Adds containers to the pod, and random requests of them.
void ask_something(model::PodFacts& pod, Random& random);
/// As ask_something(), for a cluster with MIG slices.
void ask_something_sliced(model::PodFacts& pod, Random& random);

}  // namespace snug
