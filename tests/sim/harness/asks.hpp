// What users of the simulated cluster ask for, in every form that the contract knows.
#pragma once

#include "snug/model/pod.hpp"
#include "support/random.hpp"

namespace snug {

/// Gives the pod containers, and what they ask.
void ask_something(model::PodFacts& pod, Random& random);
/// The same in a cluster with slices.
void ask_something_sliced(model::PodFacts& pod, Random& random);

}  // namespace snug
